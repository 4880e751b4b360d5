// What the lab page makes of the events of a run, without a browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** A module of the page, as Node can import it. */
async function page(name) {
  const entry = fileURLToPath(new URL(`../../web/src/${name}`, import.meta.url));
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, format: 'esm', write: false, logLevel: 'error', alias: { lengthwise: fileURLToPath(new URL('../../dist/index.js', import.meta.url)) }, external: ['node:*'] });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}
const { Lab, positionCurves, stretch } = await page('lab.ts');
const { fromHash, runnable } = await page('settings.ts');
const { json } = await page('export.ts');
const { shortTitle, wardrobe } = await page('dress.ts');

const encoding = (name, title, ...doors) => ({ name, title, title_zh: title, doors, example: '', experiment: doors.includes('ids') ? `${name}+rope` : name });
const catalogue = [encoding('nope', 'No encoding'), encoding('random_sorted', 'Randomised positions', 'ids'), { ...encoding('grouped', 'Grouped positions (Self-Extend)', 'ids'), example: 'window=16', experiment: 'rope>grouped:window=16+rope' },
  encoding('bilevel', 'Two levels (BiPE)', 'input', 'ids'), encoding('rope', 'Rotary (RoPE)', 'rotation')];

const settings = { encodings: ['rope'], task: 'text', length: 64, reach: 4, size: 'tiny', steps: 160, seeds: 1 };
const lengths = [32, 64, 128, 256];
const measured = (step, length, value = step) => ({ step, length, loss: 1, perplexity: value, accuracy: 0, byPosition: Array(length).fill(value) });
function tell(lab, step, some, seed = 1) {
  for (const length of some) lab.take({ encoding: 'rope', seed, kind: 'test', test: measured(step, length) });
}
const steps = (lab) => stretch(lab).map((point) => [point.length, point.progress * lab.settings.steps]);

test('a curve is of one step: of the newest round that has every length', () => {
  const lab = new Lab(settings);
  tell(lab, 20, lengths);
  tell(lab, 40, [32, 64]);
  assert.deepEqual(steps(lab), lengths.map((n) => [n, 20]));
  tell(lab, 40, [128, 256]);
  assert.deepEqual(steps(lab), lengths.map((n) => [n, 40]));
});

test('a refused length belongs to the round', () => {
  const lab = new Lab(settings);
  tell(lab, 20, [32, 64]);
  assert.deepEqual(steps(lab), []);
  for (const length of [128, 256]) lab.take({ encoding: 'rope', seed: 1, kind: 'refused', length, message: 'no' });
  assert.deepEqual(steps(lab), [[32, 20], [64, 20]]);
});

test('seeds are averaged after equally many steps', () => {
  const lab = new Lab({ ...settings, seeds: 2 });
  tell(lab, 40, lengths, 1);
  tell(lab, 20, lengths, 2);
  assert.deepEqual(stretch(lab).map((point) => point.seeds), [1, 1, 1, 1]);
  tell(lab, 40, lengths, 2);
  assert.deepEqual(stretch(lab).map((point) => point.seeds), [2, 2, 2, 2]);
  assert.equal(positionCurves(lab, 256).at(-1).y, 40);
});

test('steps of fine-tuning count on: a curve is done after them', () => {
  const lab = new Lab({ ...settings, encodings: ['rope', 'rope>rope@40'] });
  assert.deepEqual(lab.runs.map((run) => run.steps), [160, 200]);
  for (const step of [160, 200]) {
    for (const encoding of ['rope', 'rope>rope@40']) for (const length of lengths) if (step <= lab.of(encoding)[0].steps) lab.take({ encoding, seed: 1, kind: 'test', test: measured(step, length) });
    assert.deepEqual(stretch(lab).filter((point) => point.length === 64).map((point) => [point.step, point.progress]), [[160, 1], [step, step / 200]]);
  }
});

test('what opens no door but ids is run with rope, and is called so', () => {
  const read = (hash) => fromHash(hash, catalogue).encodings;
  assert.deepEqual(read('#encodings=random_sorted,grouped:window=8,bilevel,nope'), ['random_sorted+rope', 'grouped:window=8+rope', 'bilevel+rope', 'nope']);
  assert.deepEqual(read('#encodings=all'), ['nope', 'random_sorted+rope', 'rope>grouped:window=16+rope', 'bilevel+rope', 'rope']);
  assert.equal(runnable('grouped+rope', catalogue), 'grouped+rope');
  assert.equal(runnable('rope > grouped:window=8', catalogue), 'rope>grouped:window=8+rope');
  assert.equal(runnable(' rope → grouped ', catalogue), 'rope>grouped:window=16+rope');
  assert.equal(runnable('nope>grouped:window=8', catalogue), 'nope>grouped:window=8+nope');
  assert.equal(runnable('rope|nope>grouped:window=8', catalogue), 'rope|nope>grouped:window=8+rope');
  assert.equal(runnable(' grouped', catalogue), 'rope>grouped:window=16+rope');
  assert.equal(runnable('rope>nope', catalogue), 'rope>nope');
  for (const [given, meant] of [['rope>nope @ 100', 'rope>nope@100'], ['rope@50', 'rope>rope@50'], ['grouped@7', 'rope>grouped:window=16+rope@7'], ['rope@', 'rope>rope@'], ['rope@5@6', 'rope>rope@5@6']]) assert.equal(runnable(given, catalogue), meant);
  const title = (spec) => shortTitle(spec, catalogue, 'en');
  assert.equal(title('random_sorted+rope'), 'Randomised positions + RoPE');
  assert.equal(title('rope>grouped:window=16+rope'), 'RoPE → Self-Extend');
  assert.equal(title('rope>grouped+rope'), 'RoPE → grouped');
  assert.equal(title('bilevel+rope'), 'BiPE + RoPE');
  assert.equal(title('rope>nope'), 'RoPE → No encoding');
  assert.equal(title('rope>rope'), 'RoPE → RoPE');
  assert.equal(title('rope>grouped:window=16+rope@100'), 'RoPE → Self-Extend @100');
  assert.equal(wardrobe(catalogue, ['rope>nope@9'])('rope>nope@9').stroke, wardrobe(catalogue, ['rope>nope'])('rope>nope').stroke);
  assert.equal(title('rope>grouped:window=8+rope'), 'RoPE → grouped:window=8');
  assert.match(wardrobe(catalogue)('rope>grouped:window=16+rope').stroke, /--lw-ids/);
  assert.match(wardrobe(catalogue, ['nope>grouped+rope'])('nope>grouped+rope').stroke, /--lw-ids/);
  assert.equal(shortTitle('rope:base=7+nope', catalogue, 'en'), 'rope:base=7+nope');
});

test('downloaded numbers say whose text it was', () => {
  const text = (...lab) => JSON.parse(json(new Lab(...lab))).text;
  assert.deepEqual(text(settings, 30_000), { own: true, bytes: 30_000 });
  assert.deepEqual(text(settings), { own: false });
  assert.equal(text({ ...settings, task: 'copy' }, 30_000), undefined);
});
