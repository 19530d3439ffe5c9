# NVIDIA H200; Intel(R) Xeon(R) Processor, 16 threads
set xlabel "scale (2^{scale} vertices)"
set ylabel "million undirected edges a second"
set logscale y
set grid
set key bottom right
set datafile missing "NaN"
set terminal pngcairo size 1200,520
set output 'msf-table.png'
set multiplot layout 1,2
set title "R-MAT"
plot 'msf-table.dat' index 0 using 1:2 with linespoints title "GPU, graph in its memory", 'msf-table.dat' index 0 using 1:3 with linespoints title "GPU, graph in host memory", 'msf-table.dat' index 0 using 1:4 with linespoints title "CPU", 'msf-table.dat' index 0 using 1:5 with linespoints title "hybrid"
set title "SSCA2"
plot 'msf-table.dat' index 1 using 1:2 with linespoints title "GPU, graph in its memory", 'msf-table.dat' index 1 using 1:3 with linespoints title "GPU, graph in host memory", 'msf-table.dat' index 1 using 1:4 with linespoints title "CPU", 'msf-table.dat' index 1 using 1:5 with linespoints title "hybrid"
unset multiplot
set terminal svg size 1200,520
set output 'msf-table.svg'
set multiplot layout 1,2
set title "R-MAT"
plot 'msf-table.dat' index 0 using 1:2 with linespoints title "GPU, graph in its memory", 'msf-table.dat' index 0 using 1:3 with linespoints title "GPU, graph in host memory", 'msf-table.dat' index 0 using 1:4 with linespoints title "CPU", 'msf-table.dat' index 0 using 1:5 with linespoints title "hybrid"
set title "SSCA2"
plot 'msf-table.dat' index 1 using 1:2 with linespoints title "GPU, graph in its memory", 'msf-table.dat' index 1 using 1:3 with linespoints title "GPU, graph in host memory", 'msf-table.dat' index 1 using 1:4 with linespoints title "CPU", 'msf-table.dat' index 1 using 1:5 with linespoints title "hybrid"
unset multiplot
