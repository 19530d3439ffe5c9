# NVIDIA H200, 16 threads
set title "Filling a table, step by step"
set xlabel "load when the step begins"
set ylabel "million inserts a second"
set logscale y
set grid
set key bottom left
set datafile missing "NaN"
set terminal pngcairo size 800,520
set output 'table.png'
plot 'table.dat' using 1:2 with linespoints title "dzo, by position", 'table.dat' using 1:3 with linespoints title "dzo, any order", 'table.dat' using 1:4 with linespoints title "the published table"
set terminal svg size 800,520
set output 'table.svg'
plot 'table.dat' using 1:2 with linespoints title "dzo, by position", 'table.dat' using 1:3 with linespoints title "dzo, any order", 'table.dat' using 1:4 with linespoints title "the published table"
