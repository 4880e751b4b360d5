// One file, opened from the disk: no server, no network, and everything works.
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { browsers } from './browsers.mjs';

const built = fileURLToPath(new URL('../../dist/web/lengthwise.html', import.meta.url));
const experiment = 'document.querySelector("lengthwise-page")?.shadowRoot?.querySelector("lengthwise-experiment")';

for (const browser of browsers()) {
  test(`one file trains and shows the encodings in ${browser.name}`, { skip: browser.skip, timeout: 300_000 }, async (t) => {
    // Alone in a folder whose name needs escaping, as a teacher's may.
    const folder = mkdtempSync(join(tmpdir(), 'length wise#'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'lengthwise.html');
    copyFileSync(built, file);
    const address = pathToFileURL(file).href;

    const page = await browser.open();
    t.after(() => page.close());
    const asked = [];
    page.raw?.on('request', (request) => asked.push(request.url()));
    await page.goto(`${address}#encodings=nope,alibi&task=text&length=32&reach=2&size=tiny&steps=30&seeds=1`);
    await page.waitFor(`${experiment}?.lab?.runs.every((run) => run.state === 'done' || run.state === 'failed')`, { timeout: 180_000 });
    const runs = await page.evaluate(`${experiment}.lab.runs.map(({ state, error, losses, tests }) => ({ state, error, losses: [...losses], tests: tests.size }))`);
    for (const run of runs) {
      assert.equal(run.state, 'done', run.error);
      assert.equal(run.losses.length, 30);
      assert.ok(run.losses.at(-1) < run.losses[0] - 0.5, `the loss does not fall: ${run.losses.join(' ')}`);
      assert.equal(run.tests, 3);
    }

    await page.goto(await page.evaluate(() => document.querySelector('lengthwise-page').shadowRoot.querySelector('header a').href) + '#rope');
    await page.waitFor(() => {
      const pictures = [...document.querySelector('lengthwise-docs')?.shadowRoot.querySelector('lengthwise-entry')?.shadowRoot.querySelectorAll('lengthwise-picture') ?? []];
      return pictures.length > 0 && pictures.every((picture) => picture.shadowRoot.querySelector('.plot svg'));
    });
    const back = await page.evaluate(() => document.querySelector('lengthwise-docs').shadowRoot.querySelector('lengthwise-entry').shadowRoot.querySelector('.try a').href);
    assert.ok(back.startsWith(`${address}?#encodings=`), back);
    assert.deepEqual(page.errors, []);
    assert.deepEqual(asked.filter((url) => !url.startsWith(address) && !/^(data|blob):/.test(url)), []);
  });
}

test('it asks for nothing else', () => {
  const text = readFileSync(built, 'utf8');
  assert.doesNotMatch(text.slice(0, text.indexOf('<script')) + text.slice(text.lastIndexOf('</script>')), /(src|href)="(?!data:)/);
});
