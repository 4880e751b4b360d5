// axe finds nothing, in every state and dress of the page; the page asks no other server for anything.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import axe from 'axe-core';
import { browsers } from './browsers.mjs';
import { serve } from './server.mjs';

const chromium = browsers().find((browser) => browser.name === 'chromium');
let server;
before(async () => { server = await serve(); });
after(() => server.close());

async function violations(page) {
  const found = await page.evaluate(`(async () => { ${axe.source}; return (await axe.run()).violations; })()`);
  return found.map((violation) => `${violation.id}: ${violation.nodes.map((node) => node.target.flat().join(' ')).join(' | ')}`);
}

test('axe finds nothing', { skip: chromium.skip, timeout: 300_000 }, async (t) => {
  const page = await chromium.open();
  t.after(() => page.close());
  const asked = [];
  page.raw.on('request', (request) => asked.push(request.url()));
  await page.goto(`${server.address}#encodings=nope,learned,alibi&length=32&reach=4&steps=20&seeds=2`);
  const lab = 'document.querySelector("lengthwise-page").shadowRoot.querySelector("lengthwise-experiment")';
  await page.waitFor(`${lab}?.updateComplete`);
  assert.deepEqual(await violations(page), [], 'before the start');
  await page.waitFor(`${lab}.lab.runs.every((run) => run.state === 'done')`, { timeout: 120_000 });
  for (const [scheme, lang, width] of [['light', 'en', 1440], ['dark', 'zh', 1440], ['light', 'zh', 390], ['dark', 'en', 390]]) {
    await page.raw.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    await page.raw.setViewport({ width, height: 900 });
    await page.evaluate((code) => document.querySelector('lengthwise-page').shadowRoot.querySelector(`button[lang=${code}]`).click(), lang);
    await new Promise((resolve) => { setTimeout(resolve, 400); });
    assert.deepEqual(await violations(page), [], `${scheme} ${lang} ${width}`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${lang} ${width}: the page is wider than the screen`);
  }
  const cdp = await page.raw.createCDPSession();
  await cdp.send('Emulation.setEmulatedMedia', { features: [{ name: 'forced-colors', value: 'active' }, { name: 'prefers-color-scheme', value: 'dark' }] });
  const forced = await page.evaluate(`(() => {
    document.documentElement.dataset.theme = 'light';
    const inside = (tag) => ${lab}.shadowRoot.querySelector(tag).shadowRoot, style = (element, part) => getComputedStyle(element, part);
    return {
      axis: style(inside('lengthwise-stretch-chart').querySelector('svg')).color,
      bar: style(inside('lengthwise-runs').querySelector('.bar i'), '::after').backgroundColor !== style(inside('lengthwise-runs').querySelector('.bar i')).backgroundColor,
      swatches: new Set([...inside('lengthwise-results').querySelectorAll('.swatch')].map((swatch) => style(swatch).backgroundColor)).size,
      chips: [...inside('lengthwise-encodings').querySelectorAll('li')].slice(0, 2).map((chip) => style(chip).outlineStyle),
      go: style(${lab}.shadowRoot.querySelector('.go')).borderStyle,
    };
  })()`);
  assert.deepEqual(forced, { axis: 'rgb(255, 255, 255)', bar: true, swatches: 3, chips: ['solid', 'none'], go: 'solid' });
  await cdp.send('Emulation.setEmulatedMedia', { features: [] });
  await page.evaluate(`${lab}.shadowRoot.querySelector('lengthwise-encodings').shadowRoot.querySelector('button.info').click()`);
  await new Promise((resolve) => { setTimeout(resolve, 300); });
  assert.deepEqual(await violations(page), [], 'with an encoding explained');
  assert.deepEqual(asked.filter((url) => !url.startsWith(server.address) && !url.startsWith('data:') && !url.startsWith('blob:')), []);
});
