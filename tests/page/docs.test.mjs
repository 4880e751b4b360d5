// The pages of the encodings: each has a title, an equation and something to see, and follows its parameters.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import axe from 'axe-core';
import { browsers } from './browsers.mjs';
import { openDocs } from './docs.mjs';
import { serve } from './server.mjs';

const all = browsers(), chromium = all.find((browser) => browser.name === 'chromium');
let server;
before(async () => { server = await serve(); });
after(() => server.close());

async function open(t, hash = '', browser = chromium) {
  const page = await openDocs(t, browser, server.address, hash);
  await page.evaluate(() => {
    window.entry = () => window.docs().querySelector('lengthwise-entry')?.shadowRoot;
    window.drawn = () => {
      const pictures = [...window.entry()?.querySelectorAll('lengthwise-picture') ?? []];
      return pictures.every((picture) => picture.shadowRoot.querySelector('.plot svg')) && pictures;
    };
  });
  await page.waitFor(() => Boolean(window.docs().querySelector('main a, lengthwise-entry')));
  return page;
}

for (const browser of all) test(`every encoding has its page in ${browser.name}`, { skip: browser.skip, timeout: 300_000 }, async (t) => {
  const page = await open(t, '', browser);
  const names = await page.evaluate(() => [...new Set([...window.docs().querySelectorAll('main a')].map((a) => a.hash.slice(1)))]);
  const known = await page.evaluate(() => document.querySelector('lengthwise-docs').catalogue.map((d) => d.name));
  assert.deepEqual([...names].sort(), [...known].sort(), 'the index names all of them');
  for (const name of names) {
    await page.evaluate((to) => { location.hash = to; }, name);
    await page.waitFor((now) => window.entry()?.querySelector('code')?.textContent === now && Boolean(window.drawn()), { args: [name] });
    const seen = await page.evaluate(() => ({
      title: window.entry().querySelector('h1').textContent,
      equation: window.entry().querySelector('.equation').textContent,
      links: [...window.entry().querySelectorAll('dl a')].map((a) => a.href),
      pictures: window.drawn().map((picture) => picture.shadowRoot.querySelector('figure').getAttribute('aria-label')),
      sentences: [...window.entry().querySelectorAll('.sentence')].map((p) => p.textContent.trim()),
      problem: window.entry().querySelector('[role=alert]').textContent,
    }));
    const audit = await page.waitFor(() => {
      const element = window.entry().querySelector('lengthwise-audit');
      return !element.busy && (element.problem || element.result) && {
        problem: element.problem, result: element.result, spec: element.spec,
        cards: [...element.shadowRoot.querySelectorAll('section')].map((card) => ['h3', '.finds', 'dl'].map((part) => card.querySelector(part)?.textContent.replace(/\s+/g, ' ').trim() ?? '')),
      };
    });
    assert.equal(audit.problem, '', `audit of ${name}`);
    assert.deepEqual(audit.cards.map(([title, finds]) => Boolean(title && finds)), [true, true, true, true, true], `audit of ${name}`);
    assert.ok(seen.title && seen.equation, `${name}: title and equation`);
    assert.ok([...seen.pictures, ...seen.sentences].length > 0, `${name}: a picture or a sentence`);
    assert.ok([...seen.pictures, ...seen.sentences].every(Boolean), `${name}: pictures have names`);
    assert.equal(seen.problem, '', name);
    for (const link of seen.links) assert.match(link, /^https:\/\/(arxiv\.org\/abs|kexue\.fm\/archives)\/[\d.]+$/);
  }
  assert.deepEqual(page.errors, []);
});

test('the five requirements are measured in a worker, and follow the parameters', { skip: chromium.skip, timeout: 120_000 }, async (t) => {
  const page = await open(t, '#window_penalty');
  const seen = async (spec) => {
    await page.waitFor((now) => {
      const element = window.entry()?.querySelector('lengthwise-audit');
      return element?.spec === now && !element.busy && element.result;
    }, { args: [spec] });
    return page.evaluate(() => {
      const element = window.entry().querySelector('lengthwise-audit'), { cost, ...rest } = element.result;
      const { cost: again, ...here } = document.querySelector('lengthwise-docs').lengthwise.audit(element.spec, element.shape);
      return { rest, here, bytes: [cost.bytes, again.bytes], cards: [...element.shadowRoot.querySelectorAll('section')].map((card) => card.textContent.replace(/\s+/g, ' ')), workers: performance.getEntriesByType('resource').filter(({ name }) => /worker.*\.js$/.test(name)).length };
    });
  };
  const spec = await page.evaluate(() => window.entry().querySelector('pre.use').textContent);
  const first = await seen(spec);
  assert.deepEqual(first.rest, first.here, 'the worker measures what the library does here');
  assert.equal(first.bytes[0], first.bytes[1]);
  assert.equal(first.workers, 1);
  await page.evaluate(() => { location.hash = 'learned'; });
  const learned = await seen(await page.waitFor(() => window.entry().querySelector('h1').textContent.includes('earned') && window.entry().querySelector('pre.use').textContent));
  assert.match(learned.cards[2], /Refuses that length.*length is 256/);
  assert.match(learned.cards[4], /4,096 learned numbers/);
  await page.evaluate(() => { location.hash = 'random_sorted'; });
  const random = await seen('random_sorted+rope');
  assert.match(random.cards[1], /Random in training/);
  await page.evaluate(() => { location.hash = 'alibi'; });
  const alibi = await seen('alibi');
  assert.match(alibi.cards[1], /Always the same.*the same/);
  assert.match(alibi.cards[2], /Up to 75 % is new.*distances\s*75 %/);
  await page.evaluate(() => window.docs().querySelector('button[lang=zh]').click());
  await page.waitFor(() => window.entry().querySelector('lengthwise-audit').shadowRoot.querySelector('.finds')?.textContent.includes('处处不同'));
  assert.deepEqual(page.errors, []);
});

test('pictures follow the parameters, and mistakes are said', { skip: chromium.skip, timeout: 120_000 }, async (t) => {
  const page = await open(t, '#window');
  const image = () => (window.drawn() || [])[0]?.shadowRoot.querySelector('image')?.getAttribute('href');
  const before = await page.waitFor(image);
  const write = (value) => page.evaluate((text) => {
    const input = window.entry().querySelector('lengthwise-options').shadowRoot.querySelector('input');
    input.value = text;
    input.dispatchEvent(new Event('input'));
  }, value);
  await write('4');
  await page.waitFor((old) => { const now = (window.drawn() || [])[0]?.shadowRoot.querySelector('image').getAttribute('href'); return now && now !== old; }, { args: [before] });
  const narrow = await page.evaluate(image);
  assert.notEqual(narrow, before);
  assert.match(await page.evaluate(() => window.entry().querySelector('pre.use').textContent), /^window:width=4$/);
  await write('0');
  await page.waitFor(() => /width/.test(window.entry().querySelector('[role=alert]').textContent));
  assert.equal(await page.evaluate(image), narrow, 'the last picture stays');
  await page.evaluate(() => { location.hash = 'digits'; });
  await page.waitFor(() => window.entry().querySelector('input[type=text]') && Boolean(window.drawn()));
  await page.evaluate(() => window.docs().querySelector('button[lang=zh]').click());
  await page.waitFor(() => window.entry().querySelector('h1').textContent.includes('数位'));
  assert.deepEqual(page.errors, []);
});

test('an option may ask for a text', { skip: chromium.skip, timeout: 60_000 }, async (t) => {
  const page = await open(t, '#sparse');
  await page.waitFor(() => Boolean(window.drawn()));
  const write = (value) => page.evaluate((text) => {
    const options = window.entry().querySelector('lengthwise-options').shadowRoot, input = [...options.querySelectorAll('input')].find((each) => each.getAttribute('aria-labelledby') === 'name-at');
    input.value = text;
    input.dispatchEvent(new Event('input'));
  }, value);
  await write('32');
  await page.waitFor(() => window.entry().querySelector('.scene input[type=text]') !== null);
  assert.equal(await page.evaluate(() => window.entry().querySelector('[role=alert]').textContent), '');
  await write('');
  await page.waitFor(() => window.entry().querySelector('.scene input[type=range]') !== null);
  assert.equal(await page.evaluate(() => window.entry().querySelector('.scene label').textContent.trim()), 'Tokens: 128');
  assert.deepEqual(page.errors, []);
});

test('pictures are made when typing has stopped, and a large table once', { skip: chromium.skip, timeout: 60_000 }, async (t) => {
  const page = await open(t, '#bilevel');
  await page.waitFor(() => Boolean(window.drawn()));
  await page.evaluate(() => {
    const lw = document.querySelector('lengthwise-docs').lengthwise, { encoding } = lw;
    window.made = [];
    lw.encoding = (spec, shape) => { window.made.push([spec, shape.width]); return encoding.call(lw, spec, shape); };
    const input = window.entry().querySelector('lengthwise-options').shadowRoot.querySelector('input');
    for (const rows of ['1', '10', '100', '1000']) {
      input.value = rows;
      input.dispatchEvent(new Event('input'));
    }
  });
  await page.waitFor(() => window.made.length > 0 && window.entry().querySelector('.pictures').ariaBusy === 'false');
  const made = await page.evaluate(() => window.made);
  assert.ok(made.every(([spec]) => spec.startsWith('bilevel:rows=1000')), made.join(' '));
  assert.deepEqual(made.filter(([, width]) => width > 1), [['bilevel:rows=1000', 64]]);
});

test('heat maps keep their colours where colours are forced, and are light on paper', { skip: chromium.skip, timeout: 60_000 }, async (t) => {
  const look = async (theme, ...features) => {
    const page = await open(t, '#alibi'), cdp = await page.raw.createCDPSession();
    await page.waitFor(() => Boolean(window.drawn()?.length));
    await cdp.send('Emulation.setEmulatedMedia', { features: features.map(([name, value]) => ({ name, value })) });
    await page.evaluate((name) => { document.documentElement.dataset.theme = name; }, theme);
    await page.waitFor(() => window.drawn()[0].shadowRoot.querySelectorAll('image').length === 2);
    const colours = () => page.evaluate(async () => {
      const seen = [...window.drawn()[0].shadowRoot.querySelectorAll('image')].filter((each) => getComputedStyle(each).display !== 'none');
      if (seen.length !== 1) throw new Error(`${seen.length} images are seen`);
      const image = Object.assign(new Image(), { src: seen[0].getAttribute('href') });
      await image.decode();
      const canvas = new OffscreenCanvas(image.width, image.height), pen = canvas.getContext('2d');
      pen.drawImage(image, 0, 0);
      const { data } = pen.getImageData(0, 0, image.width, image.height), all = Array.from({ length: data.length / 4 }, (_, i) => data.slice(4 * i, 4 * i + 3).join());
      return { many: new Set(all).size, corner: data[0] }; // there a bias is 0, in the colour of paper
    });
    return { cdp, colours };
  };
  const forced = await (await look('light', ['forced-colors', 'active'], ['prefers-color-scheme', 'dark'])).colours();
  assert.ok(forced.many > 20 && forced.corner === 0, JSON.stringify(forced));
  const { cdp, colours } = await look('dark');
  assert.ok((await colours()).corner < 60, 'dark on the screen');
  await cdp.send('Emulation.setEmulatedMedia', { media: 'print' });
  assert.ok((await colours()).corner > 200, 'light on paper');
});

test('links that name no encoding are answered, and the list shows where one is', { skip: chromium.skip, timeout: 120_000 }, async (t) => {
  const page = await open(t, '#foo');
  const said = () => page.evaluate(() => window.docs().querySelector('main > [role=alert]')?.textContent ?? '');
  assert.match(await said(), /no encoding “foo”/);
  await page.evaluate(() => { location.hash = '%'; });
  await page.waitFor(() => window.docs().querySelector('main > [role=alert]')?.textContent.includes('“%”'));
  await page.evaluate(() => { location.hash = 'TEMPERATURE'; });
  await page.waitFor(() => window.entry()?.querySelector('code')?.textContent === 'temperature');
  assert.equal(await said(), '');
  assert.ok(await page.evaluate(() => {
    const list = window.docs().querySelector('nav').getBoundingClientRect(), item = window.docs().querySelector('nav a[aria-current]').getBoundingClientRect();
    return item.top >= list.top && item.bottom <= list.bottom && item.bottom <= innerHeight;
  }), 'the current one is in sight');
  assert.equal(await page.evaluate(() => Boolean(window.docs().querySelector('nav details'))), false);
  await page.raw.setViewport({ width: 600, height: 900 });
  await page.waitFor(() => Boolean(window.docs().querySelector('nav details')));
  await page.raw.setViewport({ width: 1200, height: 900 });
  await page.waitFor(() => !window.docs().querySelector('nav details'));
  assert.deepEqual(page.errors, []);
});

test('letters stand in the middle of their bytes', { skip: chromium.skip, timeout: 60_000 }, async (t) => {
  const page = await open(t, '#digits');
  await page.waitFor(() => window.entry()?.querySelector('input[type=text]') && Boolean(window.drawn()));
  await page.evaluate(() => {
    const input = window.entry().querySelector('input[type=text]');
    input.value = 'a中🙂b12';
    input.dispatchEvent(new Event('input'));
  });
  const ticks = await page.waitFor(() => {
    const all = [...window.drawn()[0]?.shadowRoot.querySelectorAll('[aria-label="x-axis tick label"] text') ?? []].map((tick) => [tick.textContent, Number(/translate\(([\d.]+)/.exec(tick.getAttribute('transform'))[1])]);
    return all.some(([letter]) => letter === '中') && all;
  });
  assert.deepEqual(ticks.map(([letter]) => letter), ['a', '中', '🙂', 'b', '1', '2']);
  const tokens = [0, 2, 5.5, 8, 9, 10], step = (ticks[5][1] - ticks[0][1]) / 10; // one byte, three, four, and three of one
  ticks.forEach(([letter, x], i) => assert.ok(Math.abs(x - ticks[0][1] - tokens[i] * step) < 0.6, `${letter} at ${x}`));
  assert.deepEqual(page.errors, []);
});

test('a bias of 0 or −∞ is drawn as what it hides, without a slider for heads that are alike', { skip: chromium.skip, timeout: 60_000 }, async (t) => {
  const page = await open(t, '#window_penalty');
  const names = await page.waitFor(() => window.drawn()?.length && window.drawn().map((picture) => picture.shadowRoot.querySelector('figure').getAttribute('aria-label')));
  assert.deepEqual(names, ['Bias on the scores: 0 or −∞. Values from −∞ to 0']);
  const sliders = () => page.evaluate(() => window.entry().querySelectorAll('.scene input[type=range]').length);
  assert.equal(await sliders(), 1, 'tokens');
  await page.evaluate(() => { location.hash = 'alibi'; });
  await page.waitFor(() => window.drawn()?.length === 2);
  assert.equal(await sliders(), 2, 'tokens and heads');
});

test('axe finds nothing on them, and they fit the screen', { skip: chromium.skip, timeout: 300_000 }, async (t) => {
  const page = await open(t);
  const check = async (where) => {
    const found = await page.evaluate(`(async () => { ${axe.source}; return (await axe.run()).violations; })()`);
    assert.deepEqual(found.map((v) => `${v.id}: ${v.nodes.map((node) => node.target.flat().join(' ')).join(' | ')}`), [], where);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${where}: wider than the screen`);
  };
  await check('index');
  const dresses = [['rope', 'light', 'en', 1440], ['alibi', 'dark', 'zh', 1440], ['yarn', 'light', 'zh', 390], ['digits', 'dark', 'en', 390], ['shaw', 'light', 'en', 1440], ['', 'dark', 'zh', 390]];
  for (const [name, scheme, lang, width] of dresses) {
    await page.raw.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    await page.raw.setViewport({ width, height: 900 });
    await page.evaluate((to, code) => {
      location.hash = to;
      window.docs().querySelector(`button[lang=${code}]`).click();
    }, name, lang);
    await new Promise((resolve) => { setTimeout(resolve, 600); });
    await check(`${name} ${scheme} ${lang} ${width}`);
  }
  const names = await page.evaluate(() => document.querySelector('lengthwise-docs').catalogue.map((d) => d.name));
  await page.raw.setViewport({ width: 320, height: 900 });
  for (const name of names) {
    await page.evaluate((to) => { location.hash = to; }, name);
    await page.waitFor((now) => window.entry()?.querySelector('code')?.textContent === now && Boolean(window.drawn()), { args: [name] });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name}: wider than the screen`);
  }
  await page.evaluate(() => { location.hash = 'transformer_xl'; });
  for (const width of [680, 900, 1110, 1200, 1280, 1440]) {
    await page.raw.setViewport({ width, height: 900 });
    await page.waitFor(() => {
      const table = window.entry().querySelector('lengthwise-measured')?.shadowRoot.querySelector('.scroll');
      return table && table.scrollWidth <= table.clientWidth;
    });
  }
});

test('the experiment and the encodings lead to each other', { skip: chromium.skip, timeout: 60_000 }, async (t) => {
  const page = await open(t, '#rope');
  const back = await page.evaluate(() => window.entry().querySelector('.try a').href);
  assert.match(back, /\/index\.html#encodings=nope,rope&/);
  await page.goto(`${server.address}index.html#start=0`);
  const there = await page.waitFor(() => document.querySelector('lengthwise-page')?.shadowRoot?.querySelector('header a')?.href);
  assert.equal(there, `${server.address}encodings.html`);
});
