# Letter: 16 columns, 26 letters (the paper: 90.51 % with 463 leaves, depth 11).
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
source(file.path(here, "common.R"))

given <- arguments(seeds = 1:10)
part <- parts(read_data(given$folder, "letter.rds"), given$validate)
experiment("letter", part, paper_settings$letter, given, limit = 463)

given$peers <- FALSE
experiment("letter", part, paper_settings$letter_150, given, limit = 150)
