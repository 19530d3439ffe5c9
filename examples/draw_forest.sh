#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
# Draws a road network and, over it, its minimum spanning forest. Needs dzo and gnuplot.
#
#   draw_forest.sh data/coquimbo.gr.gz data/coquimbo.co.gz coquimbo.png
set -eu
graph=$1 places=$2 picture=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

${DZO:-dzo} msf -o "$work/forest" "$graph" >&2
gzip -dc "$places" >"$work/places"
# Pieces of line from place to place, for edges given as: u v, in the columns that `first` says.
lines() {
  awk -v first="$1" '
    $1 == "v" { x[$2] = $3 / 1e6; y[$2] = $4 / 1e6 }
    FILENAME != "-" || ($1 !~ /^[0-9]/ && $1 != "a") { next }
    { print x[$first], y[$first]; print x[$(first + 1)], y[$(first + 1)]; print "" }' "$work/places" -
}
gzip -dc "$graph" | lines 2 >"$work/roads"
lines 2 <"$work/forest" >"$work/chosen"

gnuplot <<END
set terminal pngcairo size 800,960 font "sans,11"
set output "$picture"
# A degree of longitude is shorter than one of latitude.
stats "$work/roads" using 2 nooutput
set size ratio -1/cos(STATS_mean*pi/180)
set margins 0, 0, 0, 0
set offsets graph 0.02, graph 0.02, graph 0.02, graph 0.02
unset border; unset tics
set key top left Left reverse
plot "$work/roads" with lines linewidth 1.5 linecolor rgb "#f0a830" title "roads left out", \
     "$work/chosen" with lines linewidth 1.2 linecolor rgb "#203870" title "minimum spanning forest"
END
