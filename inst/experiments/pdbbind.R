# PDBbind: stand-in data (not the paper's file; do not compare with its 1.413), 2,052 counts, sparse.
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
source(file.path(here, "common.R"))

given <- arguments(seeds = 1:10)
part <- parts(read_data(given$folder, "pdbbind_standin.rds"), given$validate)
settings <- paper_settings$pdbbind_standin
experiment("pdbbind_standin", part, settings, given, limit = 15)

# The peers are the same.
if (!is.null(given$only_peers)) quit()
given$peers <- FALSE
linear <- utils::modifyList(settings, list(leaf = "linear", leaf_shrinkage = 4000))
experiment("pdbbind_standin", part, linear, given, limit = 15, method = "cpt, linear leaves")
