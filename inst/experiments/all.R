# All experiments of the paper, one after the other, and the suite.
#   Rscript inst/experiments/all.R DATA [--peers] [--csv=FILE] [...]
# What is given goes to every script; each has its own number of seeds unless --seeds is given.
# The suite has a table of its own: run suite.R by itself with another --csv.
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1]))
scripts <- c("rings", "letter", "connect4", "bace", "hiv", "pdbbind", "sensit", "mnist")
for (script in scripts) {
  status <- system2(file.path(R.home("bin"), "Rscript"),
    shQuote(c(file.path(here, paste0(script, ".R")), commandArgs(trailingOnly = TRUE))))
  if (status != 0) cat(script, "ended with status", status, "\n")
}
