# Letter: 16 columns, 26 letters (the paper: 90.51 % with 463 leaves, depth 11).
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
source(file.path(here, "common.R"))

given <- arguments(seeds = 1:10)
part <- parts(read_data(given$folder, "letter.rds"), given$validate)
settings <- paper_settings$letter
experiment("letter", part, settings, given, limit = 463)

given$peers <- FALSE
small <- utils::modifyList(settings, list(max_leaves = 150))
experiment("letter", part, small, given, limit = 150)
