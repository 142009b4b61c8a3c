# Rscript inst/setup/install.R [picture.png]
# Installs what is missing and cptree itself, fits the rings, prints the tree and
# draws it. The picture is rings.png in the working directory unless named.

args <- commandArgs(trailingOnly = TRUE)
file <- if (length(args)) args[1L] else "rings.png"
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
source(file.path(dirname(script), "setup.R"))

root <- checkout_root()
use_writable_library()
install_missing(described_packages(root, c("Imports", "LinkingTo")))
install_checkout(root)

library(cptree)
fit <- cpt(class ~ ., rings, max_depth = 2, seed = 1)
print(fit)

grDevices::png(file, width = 1200, height = 544, res = 120)
graphics::layout(t(1:2), widths = c(1.1, 1))
colours <- c("steelblue", "tomato")
plot(fit, palette = colours)
graphics::par(mar = c(4, 4, 2, 1), pty = "s")
plot(fit, type = "regions", data = rings, palette = colours)
invisible(grDevices::dev.off())
cat("\nThe picture is in ", file, ".\n", sep = "")
