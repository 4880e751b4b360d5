// Measures one row after the other, so that the page stays free. Gets { kernels: addresses by variant, budget }.
import { load } from 'lengthwise';
import { compete, entriesOf } from '../../../tests/bench/peers/measure.mjs';
import { load as loadOurs } from '../../../tests/bench/peers/ours.mjs';
import { load as loadPlain } from '../../../tests/bench/peers/plain.mjs';
import { expected } from '../../../tests/bench/peers/rows.mjs';
import { rows } from './rows.mjs';

async function bytes(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
  return new Uint8Array(await answer.arrayBuffer());
}

async function measure({ kernels, budget }) {
  const lengthwise = await load(), { variant } = lengthwise;
  const assets = { kernels: () => bytes(kernels[variant]), lengthwise: async () => ({ load: async () => lengthwise }) };
  const contenders = [await loadOurs(variant, assets), await loadPlain()];
  postMessage({ type: 'loaded', variant });
  for (const row of rows) {
    postMessage({ type: 'begin', id: row.id });
    const { entries } = await compete(row, entriesOf(row, contenders), expected, { ...budget, now: () => performance.now() });
    postMessage({ type: 'row', row: { id: row.id, entries } });
  }
  postMessage({ type: 'done' });
}

onmessage = ({ data }) => measure(data).catch((error) => postMessage({ type: 'failed', message: String(error?.message ?? error) }));
