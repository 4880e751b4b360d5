// What a page measures: rows of the bench against peers that are done in seconds, by the same ids.
import { rows as all } from '../../../tests/bench/peers/rows.mjs';
export { figure } from '../../../tests/bench/peers/table.mjs';

const shown = ['product 512×512×512', 'product 16×288×768', 'attention 256', 'attention 1024', 'attention 1024, doors',
  'rotate 4096×8×64', 'sinusoidal table 8192×512', 'training step, width 64'];

// Of doors the time is told: a window has less to do.
const timed = (row) => (row.specs ? { ...row, specs: [...row.specs, 'window:width=256'], work: 1, unit: 'ms' } : row);

export const rows = shown.map((id) => timed(all.find((row) => row.id === id)));
