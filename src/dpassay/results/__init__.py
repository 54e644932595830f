"""Result files of experiments on real ratings, written by `dpassay experiment NAME --output FILE`."""
