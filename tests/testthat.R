library(testthat)
library(cptree)

test_check("cptree")
