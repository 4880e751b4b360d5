// What was measured of all encodings, on the page: numbers are those of tests/bench/results.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { readStretches } from '../../web/stretch-records.mjs';
import { browsers } from './browsers.mjs';
import { openDocs } from './docs.mjs';
import { serve } from './server.mjs';

const all = browsers(), chromium = all.find((browser) => browser.name === 'chromium'), stretches = readStretches();
let server;
before(async () => { server = await serve(); });
after(() => server.close());

async function open(t, browser, hash = '') {
  const page = await openDocs(t, browser, server.address, hash);
  await page.evaluate(() => {
    window.atlas = () => window.docs().querySelector('lengthwise-atlas').shadowRoot;
    window.rows = () => [...window.atlas().querySelectorAll('li')].map((li) => ({
      name: li.querySelector('a').hash.slice(1), numbers: [...li.querySelectorAll('.numbers')].map((each) => each.textContent), dots: li.querySelectorAll('circle').length,
      inside: [...li.querySelectorAll('circle')].every((dot) => { const at = parseFloat(dot.getAttribute('cx')); return at >= 0 && at <= 100; }),
    }));
  });
  return page;
}

test('records are of what the catalogue has today, in its order', async () => {
  const { load } = await import('../../dist/index.js');
  const known = (await load()).encodings().map((d) => d.experiment);
  assert.ok(stretches.length > 0);
  for (const { task, encodings, testLengths } of stretches) {
    assert.deepEqual(Object.keys(encodings), known.filter((spec) => encodings[spec]), task);
    for (const [spec, { tests }] of Object.entries(encodings)) assert.deepEqual(tests.map(({ length, mean, refused }) => [length, mean > 0 || refused.length > 0]), testLengths.map((n) => [n, true]), spec);
  }
});

test('records keep means, deviations and refusals of the file', () => {
  for (const { task, encodings } of stretches) {
    const file = JSON.parse(readFileSync(new URL(`../bench/results/all-${task}.json`, import.meta.url)));
    for (const { encoding, tests } of file.encodings) tests.forEach((test, i) => {
      const kept = encodings[encoding].tests[i], { values, mean, sd } = test.perplexity ?? test.accuracy ?? {};
      assert.equal(kept.refused, test.refused);
      assert.equal(kept.mean, mean);
      assert.equal(kept.sd, sd);
      if (values) assert.ok(Math.abs(values.reduce((a, b) => a + b, 0) / values.length - mean) < 1e-9 * mean + 1e-12 && values.length === file.seeds.length, encoding);
    });
  }
});

for (const browser of all) test(`all encodings on one scale, the best first, in ${browser.name}`, { skip: browser.skip, timeout: 120_000 }, async (t) => {
  const page = await open(t, browser);
  await page.waitFor(() => Boolean(window.docs().querySelector('lengthwise-atlas')?.shadowRoot.querySelector('li')));
  const [{ encodings, testLengths }] = stretches, sizes = Object.keys(encodings).length;
  const rows = await page.evaluate(() => window.rows());
  assert.equal(rows.length, sizes);
  assert.ok(rows.every(({ inside, dots }) => inside && dots >= 1 && dots <= testLengths.length));
  const value = (text) => (/^[\d.]+$/.test(text) ? Number(text) : Infinity);
  const column = (from, i) => from.map(({ numbers }) => value(numbers[i]));
  assert.deepEqual(column(rows, 1), [...column(rows, 1)].sort((a, b) => a - b));
  assert.ok(column(rows, 1).some((v) => v === Infinity), 'learned refuses');
  await page.evaluate(() => [...window.atlas().querySelectorAll('.bar button')].at(-1).click());
  const again = await page.waitFor(() => [...window.atlas().querySelectorAll('.bar button')].at(-1).getAttribute('aria-pressed') === 'true' && window.rows());
  assert.deepEqual(column(again, 0), [...column(again, 0)].sort((a, b) => a - b));
  assert.deepEqual(page.errors, []);
});

test('the page of an encoding shows its numbers beside others', { skip: chromium.skip, timeout: 120_000 }, async (t) => {
  const page = await open(t, chromium, '#alibi');
  const table = await page.waitFor(() => {
    const rows = [...window.docs().querySelector('lengthwise-entry')?.shadowRoot.querySelector('lengthwise-measured')?.shadowRoot.querySelector('table')?.rows ?? []];
    return rows.length && rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
  });
  const [{ encodings, testLengths }] = stretches;
  assert.deepEqual(table.slice(1).map(([length]) => length), testLengths.map(String));
  assert.deepEqual(table[0].slice(1), ['ALiBi', 'No encoding', 'RoPE']);
  encodings.alibi.tests.forEach(({ mean, sd }, i) => {
    const [shown, spread] = table[i + 1][1].split(' ± ').map(Number);
    assert.ok(Math.abs(shown - mean) <= 0.005 && Math.abs(spread - sd) <= 0.005, table[i + 1][1]);
  });
  assert.deepEqual(page.errors, []);
});
