# Bace: 2,048 fingerprint bits, sparse, two classes (the paper: AUC .847 with 21 leaves).
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
source(file.path(here, "common.R"))

given <- arguments(seeds = 1:10)
part <- parts(read_data(given$folder, "bace.rds"), given$validate)
settings <- paper_settings$bace
experiment("bace", part, settings, given, limit = 21)
