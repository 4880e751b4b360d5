import './bench/bench.ts';
