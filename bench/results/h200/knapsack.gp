# Intel(R) Xeon(R) Processor, 16 threads; NVIDIA H200
set title "Finkelstein's instances"
set xlabel "items"
set ylabel "milliseconds"
set logscale y
set grid
set key top left
set datafile missing "NaN"
set terminal pngcairo size 800,520
set output 'knapsack.png'
plot 'knapsack.dat' using 1:2 with linespoints title "brute", 'knapsack.dat' using 1:3 with linespoints title "brute-gpu", 'knapsack.dat' using 1:4 with linespoints title "h-s", 'knapsack.dat' using 1:5 with linespoints title "hybrid", 'knapsack.dat' using 1:6 with linespoints title "hybrid-gpu", 'knapsack.dat' using 1:7 with linespoints title "core", 'knapsack.dat' using 1:8 with linespoints title "two-list", 'knapsack.dat' using 1:9 with linespoints title "dense"
set terminal svg size 800,520
set output 'knapsack.svg'
plot 'knapsack.dat' using 1:2 with linespoints title "brute", 'knapsack.dat' using 1:3 with linespoints title "brute-gpu", 'knapsack.dat' using 1:4 with linespoints title "h-s", 'knapsack.dat' using 1:5 with linespoints title "hybrid", 'knapsack.dat' using 1:6 with linespoints title "hybrid-gpu", 'knapsack.dat' using 1:7 with linespoints title "core", 'knapsack.dat' using 1:8 with linespoints title "two-list", 'knapsack.dat' using 1:9 with linespoints title "dense"
