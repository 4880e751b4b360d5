// The page in each browser that is here: it trains, the loss falls, the curve is drawn, and its controls do what they say.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { browsers } from './browsers.mjs';
import { open as openPage, press } from './lab.mjs';
import { serve } from './server.mjs';

const short = '#encodings=nope,alibi&task=text&length=32&reach=4&size=tiny&steps=60&seeds=1';
const long = '#encodings=nope,rope,alibi&task=copy&length=32&reach=4&size=tiny&steps=100000&seeds=1';

let server;
before(async () => { server = await serve(); });
after(() => server.close());

const open = (browser, hash) => openPage(browser, server.address + hash);
const status = (page) => page.evaluate(() => window.deep('lengthwise-experiment').shadowRoot.querySelector('[role=status]').textContent.trim());
const steps = (page) => page.evaluate(() => window.deep('lengthwise-experiment').lab.runs.reduce((sum, run) => sum + run.step, 0));
const finished = () => window.deep('lengthwise-experiment').lab.runs.every((run) => run.state === 'done' || run.state === 'failed');
const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
/** The number of steps, once no more are told for a second. */
async function settled(page, tries = 8) {
  for (let last = await steps(page); tries--;) {
    await sleep(1000);
    const now = await steps(page);
    if (now === last) return now;
    last = now;
  }
  throw new Error('steps go on');
}

for (const browser of browsers()) {
  describe(browser.name, { skip: browser.skip, timeout: 900_000 }, () => {
    test('starts by itself, trains, tests and draws', async (t) => {
      const page = await open(browser, short);
      t.after(() => page.close());
      await page.waitFor(finished, { timeout: 300_000 });
      const runs = await page.evaluate(() => window.deep('lengthwise-experiment').lab.runs.map((run) => (
        { ...run, losses: [...run.losses], tests: [...run.tests.values()].map((test) => ({ ...test, byPosition: test.byPosition.length })), refused: null })));
      const mean = (values) => values.reduce((a, b) => a + b) / values.length;
      for (const run of runs) {
        assert.equal(run.state, 'done', run.error);
        assert.equal(run.losses.length, 60);
        assert.ok(mean(run.losses.slice(-10)) < mean(run.losses.slice(0, 10)) - 0.5, `${run.encoding}: the loss does not fall`);
        assert.deepEqual(run.tests.map((test) => [test.length, test.step, test.byPosition]), [16, 32, 64, 128].map((n) => [n, 60, n]));
        for (const test of run.tests) assert.ok(Math.abs(Math.log(test.perplexity) - test.loss) < 1e-3 && test.perplexity > 1);
      }
      await page.waitFor(() => window.deep('lengthwise-results table') !== undefined);
      const drawn = await page.evaluate(() => window.deepAll('lengthwise-stretch-chart,lengthwise-loss-chart,lengthwise-position-chart')
        .map((chart) => chart.svg.querySelectorAll('[aria-label=line] path').length));
      assert.deepEqual(drawn, [2, 2, 2]);
      const cells = await page.evaluate(() => window.deepAll('lengthwise-results td').map((cell) => cell.textContent.trim()));
      assert.equal(cells.length, 10);
      assert.ok(cells.every((cell) => Number(cell) > 1), cells.join());
      assert.deepEqual(page.errors, []);
    });

    test('pauses, resumes, cancels, and starts again', async (t) => {
      const page = await open(browser, `${long}&start=0`);
      t.after(() => page.close());
      await sleep(4000);
      assert.equal(await steps(page), 0, 'a link that forbids it must not start');
      await press(page, 'start');
      await page.waitFor(() => window.deep('lengthwise-experiment').lab.runs[0].step > 10, { timeout: 180_000 });
      await press(page, 'pause');
      const paused = await settled(page); // a step under way is still told
      await sleep(700);
      assert.equal(await steps(page), paused);
      assert.match(await status(page), /^Paused/);
      await press(page, 'resume');
      await page.waitFor((before) => window.deep('lengthwise-experiment').lab.runs.some((run) => run.step > before), { args: [paused], timeout: 180_000 });
      await press(page, 'cancel');
      const cancelled = await settled(page);
      assert.ok(cancelled > paused);
      await sleep(700);
      assert.equal(await steps(page), cancelled);
      assert.match(await status(page), /^Cancelled/);
      await press(page, 'start');
      await page.waitFor(() => window.deep('lengthwise-experiment').lab.runs[0].step > 5, { timeout: 180_000 });
      assert.deepEqual(page.errors, []);
    });

    test('keeps the settings in a link, and speaks two languages', async (t) => {
      const page = await open(browser, '#start=0');
      t.after(() => page.close());
      await page.evaluate(() => {
        window.deepAll('lengthwise-settings input[name=task]')[2].click();
        window.deepAll('lengthwise-settings input[name=seeds]')[1].click();
      });
      await page.evaluate(() => window.deepAll('lengthwise-encodings button.name').find((button) => button.textContent.trim() !== '' && button.ariaPressed === 'true').click());
      const link = await page.evaluate(() => location.hash);
      assert.match(link, /task=recall.*seeds=3/);
      const again = await open(browser, `${link}&start=0`);
      t.after(() => again.close());
      const settings = (p) => p.evaluate(() => window.deep('lengthwise-experiment').settings);
      assert.deepEqual(await settings(again), await settings(page));
      assert.equal(await again.evaluate(() => window.deepAll('lengthwise-settings input[name=task]')[2].checked), true);
      await again.evaluate(() => window.deep('button[lang=zh]').click());
      await again.waitFor(() => document.documentElement.lang === 'zh-CN' && window.deep('lengthwise-encodings h3').textContent === '位置编码');
      assert.deepEqual([...page.errors, ...again.errors], []);
    });

    test('learns from a text of the user', async (t) => {
      const page = await open(browser, `${short}&start=0`);
      t.after(() => page.close());
      const offer = (text) => page.evaluate((value) => {
        window.deep('lengthwise-settings textarea').value = value;
        window.deepAll('lengthwise-settings button')[0].click();
        return window.deep('lengthwise-settings').updateComplete;
      }, text);
      await offer('too short');
      assert.match(await page.evaluate(() => window.deep('lengthwise-settings [role=alert]').textContent), /20,000/);
      await offer('abcdefgh'.repeat(4000));
      await press(page, 'start');
      await page.waitFor(finished, { timeout: 300_000 });
      const losses = await page.evaluate(() => window.deep('lengthwise-experiment').lab.runs.map((run) => run.tests.get(32).loss));
      assert.ok(losses.every((loss) => loss < 1), `of eight letters in turn each tells the next, yet the losses are ${losses}`);
      assert.deepEqual(page.errors, []);
    });

    test('says what is wrong with an encoding, and runs the others', async (t) => {
      const page = await open(browser, `${short}&start=0`);
      t.after(() => page.close());
      await page.evaluate((detail) => {
        window.deep('lengthwise-encodings').dispatchEvent(new CustomEvent('lw-encodings', { detail }));
      }, ['rope:base=-1', 'alibi']);
      await page.waitFor(() => /base/.test(window.deep('lengthwise-encodings .error').textContent));
      await press(page, 'start');
      await page.waitFor(finished, { timeout: 300_000 });
      assert.deepEqual(await page.evaluate(() => window.deep('lengthwise-experiment').lab.runs.map((run) => run.encoding)), ['alibi']);
      assert.deepEqual(page.errors, []);
    });
  });
}
