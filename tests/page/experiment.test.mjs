// What the experiment says and keeps: links, own mixes, focus, results, files. In one browser: none of it depends on which.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { browsers } from './browsers.mjs';
import { arrive, open, press } from './lab.mjs';
import { serve } from './server.mjs';

const chromium = browsers().find((browser) => browser.name === 'chromium');
const options = { skip: chromium.skip, timeout: 300_000 };
const brief = '#encodings=nope,alibi&task=copy&length=16&reach=4&size=tiny&steps=2&seeds=1';
const endless = '#encodings=nope,alibi&task=copy&length=16&reach=4&size=tiny&steps=100000&seeds=1&start=0';

let server;
before(async () => { server = await serve(); });
after(() => server.close());

const text = (page, path) => page.evaluate((at) => window.deepAll(at).map((element) => element.textContent.trim()), path);
const done = (page) => page.waitFor(() => window.deep('lengthwise-experiment').state === 'done', { timeout: 120_000 });
async function opened(t, hash) {
  const page = await open(chromium, server.address + hash);
  t.after(() => page.close());
  return page;
}

test('a second link in the same tab starts by itself too; start=0 stays in the link until the start', options, async (t) => {
  const page = await opened(t, '#start=0&steps=20');
  await page.evaluate(() => window.deepAll('lengthwise-settings input[name=reach]')[0].click());
  assert.match(await page.evaluate(() => location.hash), /reach=4.*&start=0$/);
  await page.evaluate((hash) => { location.hash = hash; }, brief);
  await done(page);
  assert.deepEqual(await page.evaluate(() => window.deep('lengthwise-experiment').lab.settings.encodings), ['nope', 'alibi']);
});

test('what cannot be run is said, where it is typed and where it came by a link', options, async (t) => {
  const page = await opened(t, '#encodings=nope,foo,rope%2B&start=0');
  const said = await text(page, 'lengthwise-encodings .error');
  assert.match(said[0], /^foo is left out: .*foo/);
  assert.match(said[1], /^rope\+ is left out: a name is missing/);
  for (const mix of ['<b x', 'rope:base=-1']) {
    await page.evaluate((value) => {
      window.deep('lengthwise-encodings input').value = value;
      window.deep('lengthwise-encodings form').requestSubmit();
    }, mix);
    await page.waitFor((word) => window.deep('lengthwise-encodings [role=alert]').textContent.includes(word), { args: [mix.includes('base') ? 'base' : 'x'] });
  }
  assert.deepEqual(await page.evaluate(() => window.deep('lengthwise-experiment').settings.encodings), ['nope', 'foo', 'rope+']);
  assert.equal(await page.evaluate(() => window.deep('[data-action=start]').disabled), false);
});

test('fine-tuning: offered beside what is put on a trained model, in the link, counted, explained', options, async (t) => {
  const page = await opened(t, '#encodings=rope,yarn&task=copy&length=16&reach=4&size=tiny&steps=2&seeds=1&start=0');
  await page.evaluate(() => window.deep('[data-action=fine-tune]').click());
  const encodings = () => page.evaluate(() => window.deep('lengthwise-experiment').settings.encodings);
  await page.waitFor(() => window.deep('[data-action=fine-tune]') === undefined);
  assert.deepEqual(await encodings(), ['rope', 'rope>yarn', 'rope>yarn@100', 'rope>rope@100']);
  assert.deepEqual(await text(page, 'lengthwise-encodings .chosen .name'), ['RoPE', 'RoPE → YaRN @100', 'RoPE → RoPE @100', 'RoPE → YaRN']);
  await page.evaluate(() => { location.hash = location.hash.replaceAll('@100', '@3').replaceAll('%40100', '%403').replace('&start=0', ''); });
  await done(page);
  assert.deepEqual(await encodings(), ['rope', 'rope>yarn', 'rope>yarn@3', 'rope>rope@3']);
  await page.waitFor(() => window.deepAll('lengthwise-results tbody td:last-child').map((cell) => cell.textContent).join() === '2,2,5,5');
  assert.match((await text(page, '.protocol'))[0], /fine-tuning before the test.*sequences of 64\./);
  // A table that ends at the trained length cannot be fine-tuned past it: said before anything is trained.
  await page.evaluate(() => { location.hash = '#encodings=nope,learned@5&start=0'; });
  await page.waitFor(() => /^learned>learned@5 is left out: .*64 rows/.test(window.deep('lengthwise-encodings .error')?.textContent ?? ''));
});

test('an encoding of the visitor: written, trained beside others, looked at, kept, removed', options, async (t) => {
  const own = await serve({ modules: true });
  t.after(() => own.close());
  const page = await open(chromium, `${own.address}#encodings=alibi&task=copy&length=16&reach=4&steps=3&start=0`);
  t.after(() => page.close());
  const write = async (code, outcome) => {
    await page.evaluate((value) => {
      const area = window.deep('lengthwise-own-encoding textarea');
      area.value = value || area.defaultValue;
      area.dispatchEvent(new Event('input'));
      window.deep('[data-action=own]').click();
    }, code);
    await page.waitFor((words) => window.deepAll('lengthwise-own-encoding [role]').some((element) => element.textContent.includes(words)), { args: [outcome] });
  };
  await page.evaluate(() => { window.deep('lengthwise-own-encoding details').open = true; });
  await write('export default { name: "alibi", bias: () => 0 }', 'alibi');
  await write('export default { name: "odd", bias: 3 }', 'bias');
  await write('export default {', 'could not be imported');
  await write('const x = 1', 'export default');
  await write('', 'steps was added');
  assert.deepEqual(await page.evaluate(() => window.deep('lengthwise-experiment').settings.encodings), ['alibi', 'steps']);
  await page.waitFor(() => window.deepAll('lengthwise-encodings li.chosen .name').map((e) => e.textContent.trim()).join() === 'ALiBi,steps');
  await press(page, 'start');
  await done(page);
  await page.waitFor(() => window.deepAll('lengthwise-results tbody th').map((e) => e.textContent.trim()).join() === 'ALiBi,steps');
  // What gives no number is left out, in words.
  await write('export default { name: "steps", bias: () => NaN }', 'steps was replaced');
  await page.waitFor(() => /^steps is left out: .*NaN/.test(window.deep('lengthwise-encodings .error')?.textContent ?? ''));
  await write('export default { name: "steps", bias: (head, distance) => -Math.sqrt(distance) }', 'steps was replaced');
  // It is there again, and has a page with its pictures and an audit, until it is removed.
  await page.goto(`${own.address}encodings.html#steps`);
  await page.waitFor(() => document.querySelector('lengthwise-docs')?.shadowRoot?.querySelector('lengthwise-entry') != null);
  const entry = (selector) => page.evaluate((at) => [...document.querySelector('lengthwise-docs').shadowRoot.querySelector('lengthwise-entry').shadowRoot.querySelectorAll(at)].map((e) => e.textContent), selector);
  assert.match((await entry('.equation'))[0], /Math\.sqrt/);
  assert.equal((await entry('lengthwise-picture')).length, 2);
  await page.waitFor(() => document.querySelector('lengthwise-docs').shadowRoot.querySelector('lengthwise-entry').shadowRoot.querySelector('lengthwise-audit').shadowRoot.textContent.includes('Unique'));
  await page.waitFor(() => !/Measuring|allowed:/.test(document.querySelector('lengthwise-docs').shadowRoot.querySelector('lengthwise-entry').shadowRoot.querySelector('lengthwise-audit').shadowRoot.textContent));
  // What does not fit any more costs nothing else, and is not lost.
  await page.evaluate(() => { localStorage.setItem('lengthwise-own:broken', 'export default {'); });
  await page.goto(`${own.address}?again#encodings=alibi,steps&start=0`);
  await arrive(page);
  await page.waitFor(() => window.deepAll('lengthwise-own-encoding li code').map((e) => e.textContent).join() === 'steps');
  assert.deepEqual(await page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith('lengthwise-own:')).sort()), ['lengthwise-own:broken', 'lengthwise-own:steps']);
  await page.evaluate(() => window.deep('lengthwise-own-encoding [aria-label^=Remove]').click());
  await page.waitFor(() => window.deep('lengthwise-experiment').settings.encodings.join() === 'alibi');
  await page.waitFor(() => window.deepAll('lengthwise-own-encoding li').length === 0);
});

test('the keyboard stays with the buttons; what is cancelled says so', options, async (t) => {
  const page = await opened(t, endless);
  const focus = () => page.evaluate(() => window.deep('lengthwise-experiment').shadowRoot.activeElement?.dataset.action ?? 'lost');
  await page.evaluate(() => window.deep('[data-action=start]').focus());
  await page.raw.keyboard.press('Enter');
  await page.waitFor(() => window.deep('lengthwise-experiment').lab.runs[0].step > 2, { timeout: 120_000 });
  assert.equal(await focus(), 'pause');
  await page.evaluate(() => window.deep('lengthwise-encodings header button:last-child').click());
  await page.waitFor(() => window.deep('lengthwise-experiment').settings.encodings.length === 0);
  assert.match((await text(page, '.controls [role=status]'))[0], /^Training/);
  await page.evaluate(() => window.deep('lengthwise-encodings header button').click());
  await page.evaluate(() => window.deep('[data-action=cancel]').focus());
  await page.raw.keyboard.press('Enter');
  await page.waitFor(() => window.deepAll('lengthwise-runs .words').every((words) => words.textContent === 'cancelled'));
  assert.equal(await focus(), 'start');
});

test('finished results are there again for who comes back, and not for other settings', options, async (t) => {
  const page = await opened(t, brief);
  await page.waitFor(() => window.deepAll('lengthwise-results tr td:last-child').map((step) => step.textContent.trim()).join() === '2,2', { timeout: 120_000 });
  const results = () => text(page, 'lengthwise-results td');
  const before = await results();
  for (const back of [() => page.raw.goBack(), () => page.goto(`${server.address}index.html`)]) {
    await page.goto(`${server.address}encodings.html`);
    await back();
    await arrive(page);
    await page.waitFor(() => window.deep('lengthwise-results td') !== undefined);
    assert.deepEqual(await results(), before);
  }
  await page.goto(`${server.address}bench.html`);
  await page.goto(server.address + endless);
  await arrive(page);
  assert.deepEqual(await results(), []);
});

test('copying says what it did, under a name', options, async (t) => {
  const page = await opened(t, '#start=0');
  const tree = async () => JSON.stringify(await page.raw.accessibility.snapshot());
  assert.match(await tree(), /"role":"button"[^{}]*"name":"Copy link"/);
  for (const [answer, words] of [['Promise.reject(new Error("no"))', 'Copying was refused'], ['Promise.resolve()', 'Link copied']]) {
    await page.evaluate(`Object.defineProperty(navigator, 'clipboard', { configurable: true, value: { writeText: () => ${answer} } })`);
    await press(page, 'link');
    await page.waitFor((start) => window.deep('[data-action=link]').textContent.startsWith(start), { args: [words] });
  }
});

test('numbers out of range are said and brought into it; an error goes with what it was about', options, async (t) => {
  const page = await opened(t, '#start=0&task=text');
  for (const [given, taken] of [['0', 1], ['-5', 1], ['200000', 100000]]) {
    await page.evaluate((value) => {
      const input = window.deep('lengthwise-settings input[type=number]');
      input.value = value;
      input.dispatchEvent(new Event('change'));
    }, given);
    assert.equal(await page.evaluate(() => window.deep('lengthwise-experiment').settings.steps), taken);
    assert.match((await text(page, 'lengthwise-settings [role=status]'))[0], /1 to 100,000/);
  }
  const offer = (value) => page.evaluate(async (words) => {
    window.deep('lengthwise-settings textarea').value = words;
    window.deepAll('lengthwise-settings .row button')[0].click();
    await window.deep('lengthwise-settings').updateComplete;
  }, value);
  await offer('abcdefgh'.repeat(4000));
  await offer('too short');
  assert.match((await text(page, 'lengthwise-settings [role=alert]'))[0], /20,000/);
  await page.evaluate(() => window.deepAll('lengthwise-settings .row button')[1].click());
  await page.waitFor(() => window.deep('lengthwise-settings [role=alert]').textContent === '');
});

test('a text of the visitor that is too short for the settings is named, and no encoding is blamed', options, async (t) => {
  const page = await opened(t, '#encodings=alibi,nope&length=128&reach=16&steps=20&start=0');
  await page.evaluate(() => {
    window.deep('lengthwise-settings textarea').value = 'abcdefgh '.repeat(2240);
    window.deepAll('lengthwise-settings .row button')[0].click();
  });
  const state = () => page.evaluate(() => ({
    alert: window.deep('lengthwise-settings [role=alert]').textContent, status: window.deep('.controls [role=status]').textContent, disabled: window.deep('[data-action=start]').disabled }));
  const set = (key, i) => page.evaluate(async (name, at) => {
    window.deepAll(`lengthwise-settings input[name=${name}]`)[at].click();
    await window.deep('lengthwise-experiment').updateComplete;
    await window.deep('lengthwise-settings').updateComplete;
  }, key, i);
  await page.waitFor(() => window.deep('[data-action=start]').disabled);
  const short = await state();
  assert.match(short.alert, /20,160 bytes.*at least 20,481/);
  assert.equal(short.status, short.alert);
  await set('reach', 1);
  assert.deepEqual(await state(), { alert: '', status: 'Ready.', disabled: false });
  await set('reach', 2);
  assert.deepEqual(await state(), short);
  await set('task', 1);
  assert.equal(await page.evaluate(() => window.deep('[data-action=start]').disabled), false);
});

test('what stands on the page follows its language; words of the engine stay English and say so', options, async (t) => {
  const page = await opened(t, '#encodings=nope,foo&start=0');
  await page.evaluate(() => {
    const steps = window.deep('lengthwise-settings input[type=number]');
    steps.value = '0';
    steps.dispatchEvent(new Event('change'));
    window.deep('lengthwise-settings textarea').value = 'too short';
    window.deepAll('lengthwise-settings .row button')[0].click();
  });
  const type = (mix) => page.evaluate(async (value) => {
    window.deep('lengthwise-encodings input').value = value;
    window.deep('lengthwise-encodings form').requestSubmit();
    await window.deep('lengthwise-encodings').updateComplete;
  }, mix);
  await type('bar');
  await page.evaluate(() => window.deep('button[lang=zh]').click());
  await page.waitFor(() => window.deep('lengthwise-encodings h3').textContent === '位置编码');
  const said = [...await text(page, 'lengthwise-encodings .error'), ...await text(page, 'lengthwise-settings [role]')].filter(Boolean);
  assert.deepEqual(said, ['不运行 foo：没有名为 foo 的编码。', '没有名为 bar 的编码。', '你的文本有 9 字节；按当前设置，至少需要 20,000 字节。', '取 1 至 100,000 的整数。']);
  await type('rope:base=-1');
  assert.match((await text(page, '#wrong [lang=en]'))[0], /base/);
  await page.evaluate(() => window.deepAll('lengthwise-encodings button.info')[2].click());
  await page.waitFor(() => window.deep('#about').matches(':popover-open'));
  assert.match((await text(page, '#about dd'))[0], /^旋转：/);
});

test('what is told about an encoding takes the focus, gives it back, and scrolls on a low screen', options, async (t) => {
  const page = await opened(t, '#start=0');
  const focus = () => page.evaluate(() => window.deep('lengthwise-encodings').shadowRoot.activeElement?.className);
  await page.raw.setViewport({ width: 683, height: 330 });
  await page.evaluate(() => window.deepAll('lengthwise-encodings button.info')[2].focus());
  for (const close of ['Escape', 'Enter']) {
    await page.raw.keyboard.press('Enter');
    await page.waitFor(() => window.deep('#about').matches(':popover-open') && window.deep('#about').style.top);
    assert.equal(await focus(), 'close');
    assert.ok(await page.evaluate(() => {
      const about = window.deep('#about'), { top, bottom } = about.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight && about.scrollHeight > about.clientHeight;
    }));
    await page.raw.keyboard.press(close);
    await page.waitFor(() => window.deep('lengthwise-encodings').shadowRoot.activeElement === window.deepAll('lengthwise-encodings button.info')[2]);
  }
});

test('who leaves while it trains finds what was measured', options, async (t) => {
  const page = await opened(t, endless);
  await press(page, 'start');
  await page.waitFor(() => window.deep('lengthwise-experiment').lab.runs[0].step > 2, { timeout: 120_000 });
  const before = await page.evaluate(() => window.deep('lengthwise-experiment').lab.runs[0].losses.slice(0, 3));
  await page.raw.reload();
  await arrive(page);
  await page.waitFor(() => window.deep('lengthwise-experiment').state === 'cancelled');
  const runs = await page.evaluate(() => window.deep('lengthwise-experiment').lab.runs.map(({ state, losses }) => ({ state, losses: losses.slice(0, 3) })));
  assert.deepEqual(runs.map(({ state }) => state), ['cancelled', 'cancelled']);
  assert.deepEqual(runs[0].losses, before);
});

test('a chart as a file has a title, names of its axes, and cuts nothing', options, async (t) => {
  const page = await opened(t, brief.replace('copy', 'recall').replace('alibi', 'learned_frequency'));
  await done(page);
  await page.evaluate(() => { URL.createObjectURL = (blob) => { blob.text().then((svg) => { window.saved = svg; }); return 'data:,'; }; });
  for (const [tag, ...words] of [['lengthwise-loss-chart', 'Loss while training', 'nats per token', 'step'], ['lengthwise-position-chart', 'Loss by position', 'nats per token', 'position'],
    ['lengthwise-stretch-chart', 'The stretch', 'accuracy', 'test length']]) {
    const found = await page.evaluate(async (name) => {
      window.saved = undefined;
      const chart = window.deep(name);
      (chart.parentElement.querySelector('header') ?? chart.previousElementSibling).querySelector('button').click();
      while (!window.saved) await new Promise((resolve) => { setTimeout(resolve, 20); });
      const place = document.body.appendChild(document.createElement('div'));
      place.innerHTML = window.saved;
      const svg = place.querySelector('svg'), frame = svg.getBoundingClientRect();
      const texts = [...svg.querySelectorAll('text')].map((element) => ({ words: element.textContent, box: element.getBoundingClientRect() })).filter(({ box }) => box.width > 0);
      const cut = texts.filter(({ box }) => box.left < frame.left || box.right > frame.right || box.top < frame.top || box.bottom > frame.bottom).map(({ words }) => words);
      place.remove();
      return { words: texts.map(({ words }) => words).join('|'), cut, dots: chart.svg.querySelectorAll('circle').length };
    }, tag);
    for (const word of words) assert.ok(found.words.includes(word), `${tag}: ${word} in ${found.words}`);
    assert.deepEqual(found.cut, [], tag);
    assert.ok(found.dots > 0, `${tag}: few points are dots`);
  }
});

test('with every encoding chosen no words overlap or are cut, on any screen and on paper', options, async (t) => {
  const page = await opened(t, '#encodings=all&length=32&reach=16&start=0');
  await page.evaluate(() => {
    const { lab } = window.deep('lengthwise-experiment');
    lab.runs.forEach(({ encoding, seed }, i) => {
      const losses = Array.from({ length: 600 }, (_, step) => 2 + (i % 9) / 50 + 3 / (step + 1));
      lab.take({ encoding, seed, kind: 'train', step: 600, losses, stepsPerSecond: 9 });
      for (const length of [16, 32, 64, 128, 256, 512]) {
        if (i % 11 === 2 && length > 32) lab.take({ encoding, seed, kind: 'refused', length, message: 'no' });
        else lab.take({ encoding, seed, kind: 'test', test: { step: 600, length, loss: 2, perplexity: 8 + (i % 13) / 9 + length / 400, accuracy: 0, byPosition: Array(length).fill(2 + (i % 7) / 9) } });
      }
    });
    window.deep('lengthwise-experiment').redraw();
  });
  const faults = () => window.deepAll('lengthwise-stretch-chart,lengthwise-loss-chart,lengthwise-position-chart').flatMap((chart) => {
    const frame = chart.getBoundingClientRect();
    const texts = [...chart.svg.querySelectorAll('text')].map((element) => ({ words: element.textContent, box: element.getBoundingClientRect() })).filter(({ box }) => box.width > 0);
    const slack = 3; // empty rows above and below letters
    const meet = (a, b) => a.left < b.right && b.left < a.right && a.top + slack < b.bottom - slack && b.top + slack < a.bottom - slack;
    const cut = ({ box }) => box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1;
    return [...texts.filter(cut).map(({ words }) => `${words} is cut`),
      ...texts.flatMap((a, i) => texts.slice(i + 1).filter((b) => meet(a.box, b.box)).map((b) => `${a.words} over ${b.words}`))];
  });
  await page.waitFor(() => window.deep('lengthwise-stretch-chart').svg.textContent.includes('more'));
  for (const [width, language] of [[1440, 'en'], [1280, 'zh'], [1024, 'en'], [360, 'zh'], [360, 'en']]) {
    await page.raw.setViewport({ width, height: 800 });
    await page.evaluate((lang) => window.deep(`button[lang=${lang}]`).click(), language);
    await new Promise((resolve) => { setTimeout(resolve, 600); });
    assert.deepEqual(await page.evaluate(faults), [], `${width} ${language}`);
  }
  await page.raw.setViewport({ width: 1280, height: 800 });
  await page.raw.emulateMediaType('print');
  await page.raw.setViewport({ width: 700, height: 1000 });
  await new Promise((resolve) => { setTimeout(resolve, 600); });
  assert.deepEqual(await page.evaluate(faults), [], 'on paper');
  assert.deepEqual(await page.evaluate(() => window.deepAll('lengthwise-experiment button,lengthwise-block').filter((element) => element.getClientRects().length).map((element) => element.textContent.trim())), []);
});
