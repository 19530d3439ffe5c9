#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
"""The same graph through scipy.sparse.csgraph.minimum_spanning_tree and through dzo.

Prints one JSON object: both times (seconds, from the graph in memory to the forest; the least of
the repeats), their ratio, and the weight, on which both must agree.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy
import scipy
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import minimum_spanning_tree


def read_contest_graph(path):
    """Offsets, neighbours and weights of a GraphHPC-2015 file."""
    with open(path, "rb") as file:
        vertices = int(numpy.fromfile(file, "<u4", 1)[0])
        arcs = int(numpy.fromfile(file, "<u8", 1)[0])
        file.seek(2, os.SEEK_CUR)
        offsets = numpy.fromfile(file, "<u8", vertices + 1).astype(numpy.int64)
        neighbours = numpy.fromfile(file, "<u4", arcs).astype(numpy.int32)
        weights = numpy.fromfile(file, "<f8", arcs)
    if len(weights) != arcs:
        sys.exit(f"{path}: shorter than it says")
    return offsets, neighbours, weights


def upper_triangle(offsets, neighbours, weights):
    """Each edge once, as a sparse matrix. Loops go; parallel edges stay, and scipy, which sorts
    the entries, takes the lightest of them."""
    vertices = len(offsets) - 1
    rows = numpy.repeat(numpy.arange(vertices, dtype=numpy.int32), numpy.diff(offsets))
    upper = rows < neighbours
    counts = numpy.bincount(rows[upper], minlength=vertices)
    starts = numpy.concatenate(([0], numpy.cumsum(counts))).astype(numpy.int32)
    return csr_matrix((weights[upper], neighbours[upper], starts), (vertices, vertices))


def solve_with_scipy(matrix, repeats):
    """Least seconds, weight and edges. A zero is no edge to scipy, so weights are one too high."""
    matrix.data += 1
    seconds = []
    for _ in range(repeats):
        begun = time.perf_counter()
        tree = minimum_spanning_tree(matrix)
        seconds.append(time.perf_counter() - begun)
    return min(seconds), int(tree.data.sum()) - tree.nnz, tree.nnz


def solve_with_dzo(dzo, path, threads, repeats):
    command = [dzo, "msf", path, "--json"]
    if threads:
        command += ["--threads", str(threads)]
    runs = [json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            for _ in range(repeats)]
    forest = runs[0]["forest"]
    return min(run["seconds"]["solve"] for run in runs), forest["weight"], forest["edges"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dzo", default="dzo", help="the program")
    parser.add_argument("--graph", default="rmat", choices=["rmat", "ssca2", "uniform", "grid"])
    parser.add_argument("--scale", default=18, type=int)
    parser.add_argument("--threads", default=0, type=int, help="of dzo; 0: all")
    parser.add_argument("--repeats", default=3, type=int)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph")
        subprocess.run([options.dzo, "generate", options.graph, "--scale", str(options.scale),
                        "--weights", "u32", "--format", "graphhpc", "-o", path],
                       check=True, stdout=subprocess.DEVNULL)
        ours, weight, edges = solve_with_dzo(options.dzo, path, options.threads, options.repeats)
        matrix = upper_triangle(*read_contest_graph(path))
    theirs, their_weight, their_edges = solve_with_scipy(matrix, options.repeats)
    if (int(weight), edges) != (their_weight, their_edges):
        sys.exit(f"dzo found {edges} edges of weight {weight}, "
                 f"scipy {their_edges} of weight {their_weight}")
    print(json.dumps({"graph": options.graph, "scale": options.scale, "edges": int(matrix.nnz),
                      "weight": their_weight, "dzo_seconds": ours, "scipy_seconds": theirs,
                      "ratio": theirs / ours, "scipy": scipy.__version__}))


if __name__ == "__main__":
    main()
