#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
"""Make coquimbo.gr.gz and coquimbo.co.gz from the example model in AequilibraE's Python package.

  pip download --no-deps aequilibrae==1.7.2
  unzip aequilibrae-*.whl aequilibrae/reference_files/coquimbo.zip
  unzip aequilibrae/reference_files/coquimbo.zip project_database.sqlite
  python3 make_coquimbo.py project_database.sqlite

See README.md in this folder for the source and the licence.
"""
import gzip
import sqlite3
import struct
import sys

HEADER = """\
c Roads of La Serena and Coquimbo, Chile
c (c) OpenStreetMap contributors, Open Database License 1.0, see data/README.md
"""


def point_ends(blob):
    """First and last (longitude, latitude) of a SpatiaLite linestring."""
    count = struct.unpack_from("<I", blob, 43)[0]
    return struct.unpack_from("<dd", blob, 47), struct.unpack_from("<dd", blob, 47 + 16 * (count - 1))


def write(path, text):
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as out:
        out.write(text.encode("ascii"))


def main(database):
    rows = sqlite3.connect(database).execute(
        "select a_node, b_node, distance, geometry from links"
        " where link_type != 'centroid_connector' order by link_id").fetchall()
    place = {}
    for a, b, _, geometry in rows:
        first, last = point_ends(geometry)
        place.setdefault(a, first)
        place.setdefault(b, last)
    number = {node: i for i, node in enumerate(sorted(place), 1)}
    graph = [HEADER, "c One line a street segment, length in centimetres\n",
             f"p sp {len(number)} {len(rows)}\n"]
    graph += [f"a {number[a]} {number[b]} {round(metres * 100)}\n" for a, b, metres, _ in rows]
    write("coquimbo.gr.gz", "".join(graph))
    points = [HEADER, "c Longitude and latitude in millionths of a degree\n",
              f"p aux sp co {len(number)}\n"]
    points += [f"v {number[node]} {round(x * 1e6)} {round(y * 1e6)}\n"
               for node, (x, y) in sorted(place.items())]
    write("coquimbo.co.gz", "".join(points))


if __name__ == "__main__":
    main(sys.argv[1])
