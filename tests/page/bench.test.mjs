// The page of the bench: every row is checked and gets a number, in each browser; recorded runs stand beside, cancelling keeps what is there.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import axe from 'axe-core';
import { benchRecords } from '../../web/bench-records.mjs';
import { browsers } from './browsers.mjs';
import { serve } from './server.mjs';

const all = browsers(), chromium = all.find((browser) => browser.name === 'chromium');
let server;
before(async () => { server = await serve(); });
after(() => server.close());

async function open(t, browser) {
  const page = await browser.open();
  t.after(() => page.close());
  await page.goto(`${server.address}bench.html`);
  await page.evaluate(() => {
    window.bench = () => document.querySelector('lengthwise-bench');
    window.find = (selector) => [...window.bench().shadowRoot.querySelectorAll(selector)];
  });
  await page.waitFor(() => window.bench()?.shadowRoot && window.find('[data-action=start]').length === 1);
  await page.evaluate(() => window.find('input[type=checkbox]')[0].click()); // quick
  return page;
}
const press = (page, action) => page.evaluate((name) => { const [button] = window.find(`[data-action=${name}]`); button.focus(), button.click(); }, action);
const ended = () => ['done', 'failed', 'cancelled'].includes(window.bench().state) && window.bench().state;

async function findsNothing(page, where) {
  const found = await page.evaluate(`(async () => { ${axe.source}; return (await axe.run()).violations; })()`);
  assert.deepEqual(found.map((v) => `${v.id}: ${v.nodes.map((node) => node.target.flat().join(' ')).join(' | ')}`), [], where);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${where}: wider than the screen`);
}

for (const browser of all) test(`every row is checked and timed in ${browser.name}`, { skip: browser.skip, timeout: 300_000 }, async (t) => {
  const page = await open(t, browser);
  await press(page, 'start');
  assert.equal(await page.waitFor(ended, { timeout: 240_000 }), 'done');
  const results = JSON.parse(await page.evaluate(() => window.bench().json()));
  assert.match(results.variant, /^(simd|relaxed)$/);
  assert.ok(results.rows.length >= 8);
  for (const { id, entries } of results.rows) {
    assert.ok(entries.length >= 1 && entries[0].ours, id);
    for (const { name, value, error, fault } of entries) assert.ok(value > 0 && error >= 0, `${id}, ${name}: ${value}, off by ${error}; ${fault}`);
  }
  const lines = await page.evaluate(() => window.find('section.row').map((row) => ({
    title: row.querySelector('h2').textContent, here: [...row.querySelectorAll('li.here')].map((li) => [li.querySelector('b').textContent, li.querySelector('small').textContent]) })));
  assert.equal(lines.length, results.rows.length);
  for (const { title, here } of lines) {
    assert.ok(title && here.length > 0);
    for (const [number, checked] of here) assert.ok(Number(number) > 0 && /^checked, (equal|off by \de-\d+) · ±\d+ %$/.test(checked), `${title}: ${number}, ${checked}`);
  }
  assert.match(await page.evaluate(() => window.find('[role=status]')[0].textContent), /^Done in \d+ s: (\d+) of \1 results/);
  assert.deepEqual(page.errors, []);
});

const sample = {
  date: '2026-01-02', machine: { host: 'private', cpu: 'A processor with a name as long as any that is sold, at 2.40 GHz', cores: 2, gigabytes: 8 }, versions: { peer: '1.2.3' },
  runs: [{ engine: 'Node v20', clock: 'wall', rows: [{ id: 'product 512×512×512', entries: [
    { name: 'a peer', ours: false, error: 1e-6, median: 10, low: 9, high: 11 }, { name: 'another', ours: false, fault: 'does not load' }] }] }],
};

/** What the site would be built with, if the folder of results held these files. */
function recordsOf(files) {
  const folder = mkdtempSync(join(tmpdir(), 'lengthwise-records-'));
  try {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), JSON.stringify(content));
    return JSON.parse(/= (.*);$/.exec(benchRecords(folder).load('\0virtual:bench-records'))[1]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('what was recorded is found when the site is built', () => {
  assert.deepEqual(recordsOf({}), { peers: [], growth: [] });
  const { peers } = recordsOf({ 'peers-a.json': { ...sample, date: '2025-01-01' }, 'peers-b.json': sample, 'stretch-text.json': {} });
  assert.deepEqual(peers.map(({ date }) => date), ['2026-01-02', '2025-01-01'], 'newest first');
  assert.deepEqual(peers[0].rows[0].entries.map(({ name }) => name), ['a peer']);
  assert.doesNotMatch(JSON.stringify(peers), /private/);
});

test('recorded runs stand beside, cancelling keeps what is there, axe finds nothing', { skip: chromium.skip, timeout: 300_000 }, async (t) => {
  const page = await open(t, chromium);
  await findsNothing(page, 'before the start');
  await page.evaluate((runs) => Object.assign(window.bench(), { runs, recorded: runs[0] }) && null, recordsOf({ 'peers-a.json': sample }).peers);
  await page.waitFor(() => window.find('li.recorded').length === 1);
  const [bar] = await page.evaluate(() => window.find('li.recorded').map((li) => li.innerText.split('\n').filter(Boolean)));
  assert.deepEqual(bar, ['a peer', '26.8'], '2 · 512³ in 10 ms');
  assert.match(await page.evaluate(() => window.find('.beside')[0].textContent.replace(/\s+/g, ' ')), /Recorded 2026-01-02 in Node v20 on A processor.* with peer 1\.2\.3/);

  await press(page, 'start');
  await page.waitFor(() => window.bench().results.length >= 1, { timeout: 120_000 });
  await press(page, 'cancel');
  await page.waitFor(() => window.bench().state === 'cancelled' && window.find('[data-action=start]').length === 1);
  assert.equal(await page.evaluate(() => window.bench().shadowRoot.activeElement?.dataset.action), 'start', 'the focus stays');
  const kept = await page.evaluate(() => window.find('li.here').length);
  assert.ok(kept > 0);
  await new Promise((resolve) => { setTimeout(resolve, 1500); });
  assert.equal(await page.evaluate(() => window.find('li.here').length), kept, 'nothing goes on');
  for (const [scheme, lang, width] of [['light', 'en', 1440], ['dark', 'zh', 1440], ['light', 'zh', 360], ['dark', 'en', 360]]) {
    await page.raw.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    await page.raw.setViewport({ width, height: 900 });
    await page.evaluate((code) => { window.find(`button[lang=${code}]`)[0].click(); for (const details of window.find('lengthwise-growth')[0]?.shadowRoot.querySelectorAll('details') ?? []) details.open = true; }, lang);
    await new Promise((resolve) => { setTimeout(resolve, 400); });
    await findsNothing(page, `${scheme} ${lang} ${width}`);
  }
  assert.doesNotMatch(await page.evaluate(() => window.find('lengthwise-growth')[0]?.shadowRoot.textContent ?? ''), /\d(e\+|k\b)/, 'numbers are written out');
  await press(page, 'copy');
  await page.waitFor(() => /^(Copied|Copying was refused)/.test(window.find('[data-action=copy]')[0].textContent));
  await page.evaluate(() => window.find('button[lang=zh]')[0].click());
  await page.waitFor(() => /已复制|浏览器拒绝了复制/.test(window.find('[data-action=copy]')[0].textContent));
  assert.deepEqual(page.errors, []);
});

test('the pages lead to each other', { skip: chromium.skip, timeout: 60_000 }, async (t) => {
  const page = await chromium.open();
  t.after(() => page.close());
  for (const [name, element] of [['index.html#start=0', 'lengthwise-page'], ['encodings.html', 'lengthwise-docs']]) {
    await page.goto(server.address + name);
    await page.waitFor((tag) => [...document.querySelector(tag)?.shadowRoot?.querySelectorAll('header a') ?? []].some((a) => a.href.endsWith('/bench.html')), { args: [element] });
  }
  await page.goto(`${server.address}bench.html`);
  await page.waitFor(() => ['index', 'encodings'].every((name) => [...document.querySelector('lengthwise-bench')?.shadowRoot?.querySelectorAll('header a') ?? []].some((a) => a.href.endsWith(`/${name}.html`))));
});
