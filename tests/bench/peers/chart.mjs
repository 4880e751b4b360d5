// A picture for each group of rows, a facet for each row, from the engine in which most take part.
import { libraries } from '../../../dist/cli/chart.js';
import { figure } from './table.mjs';

const drawn = { product: 'GFLOP/s', attention: 'GFLOP/s', rotate: 'GB/s', training: 'steps/s', model: 'tokens/s' };

const present = ({ rows }, group) => new Set(rows.filter((row) => row.group === group)
  .flatMap(({ entries }) => entries.filter(({ median }) => median).map(({ name }) => name))).size;

/** { group: SVG } of the groups that were measured. */
export async function drawPeers(runs) {
  const { Plot, document } = await libraries();
  const pictures = {};
  for (const [group, unit] of Object.entries(drawn)) {
    const { rows, engine } = runs.reduce((most, run) => (present(run, group) > present(most, group) ? run : most));
    const bars = rows.filter((row) => row.group === group && !row.beside).flatMap((row) => row.entries.filter(({ median }) => median)
      .map((entry) => ({ row: row.id, name: entry.name, ours: entry.ours, value: figure(row, entry.median),
        low: figure(row, entry.high), high: figure(row, entry.low) })));
    if (!bars.length) continue;
    const names = [...new Set(bars.map(({ name }) => name))], facets = [...new Set(bars.map(({ row }) => row))];
    const svg = Plot.plot({
      document, width: 860, height: 70 + facets.length * (names.length * 18 + 16), marginLeft: 190, marginRight: 210, marginTop: 48,
      style: { fontFamily: 'system-ui, sans-serif', fontSize: '13px', background: 'white' },
      x: { label: `${unit}, ${engine}, one thread; more is better`, grid: true, axis: 'top', labelOffset: 40 }, y: { domain: names, label: null }, fy: { domain: facets, label: null },
      marks: [
        Plot.barX(bars, { y: 'name', fy: 'row', x: 'value', fill: ({ ours }) => (ours ? '#4269d0' : '#9498a0') }),
        Plot.ruleY(bars, { y: 'name', fy: 'row', x1: 'low', x2: 'high', stroke: '#222' }),
        Plot.ruleX([0]),
      ],
      color: { type: 'identity' },
    });
    svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
    pictures[group] = `${svg.outerHTML}\n`;
  }
  return pictures;
}
