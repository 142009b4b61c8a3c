# HIV: 2,048 fingerprint bits, sparse, two classes, 4 % positive (the paper: AUC .731
# with 24 leaves).
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
source(file.path(here, "common.R"))

given <- arguments(seeds = 1:5)
part <- parts(read_data(given$folder, "hiv.rds"), given$validate)
settings <- paper_settings$hiv
experiment("hiv", part, settings, given, limit = 24)
