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

${DZO:-dzo} msf --quiet -o "$work/forest" "$graph"
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
set terminal pngcairo size 1100,900 font "sans,11"
set output "$picture"
# A degree of longitude is shorter than one of latitude.
stats "$work/roads" using 2 nooutput
set size ratio -1/cos(STATS_mean*pi/180)
unset border; unset tics
set key top left
plot "$work/roads" with lines linewidth 1 linecolor rgb "#bbbbbb" title "all roads", \
     "$work/chosen" with lines linewidth 1.5 linecolor rgb "#b03060" title "minimum spanning forest"
END
