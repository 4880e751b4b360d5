// The browsers found on this machine, behind one small interface, so that a page test is written once:
//   for (const browser of browsers()) test(browser.name, { skip: browser.skip }, async () => {
//     const page = await browser.open('http://…');
//     await page.waitFor(() => document.title !== '');
//     await page.close();
//   });
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask, distribution, hasApt, install, isRoot, which } from '../../bindings/toolchain/host.mjs';

const version = (path) => /(\d+[\d.]*)/.exec(ask(path, ['--version']) ?? '')?.[1];

/** The first of the names that is there and starts. (Ubuntu's chromium-browser may be a mere hint.) */
function program(names) {
  for (const name of names.filter(Boolean)) {
    const path = name.includes('/') ? name : which(name);
    if (path && existsSync(path) && version(path)) return path;
  }
  return null;
}

const chromiumPath = () => program([process.env.CHROMIUM, 'chromium', 'google-chrome', 'google-chrome-stable', 'chromium-browser']);
const firefoxPath = () => program([process.env.FIREFOX, 'firefox-esr', 'firefox']);

function miniBrowser() {
  for (const folder of existsSync('/usr/lib') ? readdirSync('/usr/lib').filter((name) => /-linux-gnu/.test(name)) : []) {
    for (const edition of ['webkitgtk-6.0', 'webkit2gtk-4.1', 'webkit2gtk-4.0']) {
      const path = join('/usr/lib', folder, edition, 'MiniBrowser');
      if (existsSync(path)) return path;
    }
  }
  return null;
}

/** Installs Chromium where that is ours to do: on Debian, as root. */
export async function installChromium() {
  if (chromiumPath() || !isRoot || !hasApt() || distribution().id !== 'debian') return;
  await install(['chromium'], 'test the page').catch((error) => process.stderr.write(`${error.message}\n`));
}

// Whatever is still running when the tests end, ends with them.
const running = new Set();
process.on('exit', () => { for (const child of running) child.kill('SIGKILL'); });

function start(command, args, options) {
  const child = spawn(command, args, { stdio: 'ignore', ...options });
  running.add(child);
  child.on('error', () => {});
  child.on('exit', () => running.delete(child));
  return child;
}

/** A page of puppeteer (Chromium and Firefox). */
class PuppeteerPage {
  constructor(browser, page) {
    this.raw = page;
    this.browser = browser;
    this.errors = [];
    page.on('pageerror', (error) => this.errors.push(String(error?.message ?? error)));
    page.on('console', (message) => { if (message.type() === 'error') this.errors.push(message.text()); });
  }

  goto(url) { return this.raw.goto(url, { waitUntil: 'load' }); }
  evaluate(body, ...args) { return this.raw.evaluate(body, ...args); }
  click(selector) { return this.raw.locator(selector).click(); }
  screenshot(path) { return this.raw.screenshot({ path }); }
  close() { return this.browser.close(); }
}

async function openPuppeteer(options) {
  const { launch } = await import('puppeteer-core');
  const browser = await launch({ headless: true, timeout: 60_000, protocolTimeout: 600_000, ...options });
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 900 });
  return new PuppeteerPage(browser, page);
}

const openChromium = (path) => openPuppeteer({
  browser: 'chrome',
  executablePath: path,
  // The sandbox starts neither for root nor in many containers, and these pages are our own; the rest keeps the
  // browser from looking for a network.
  args: ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
});

const openFirefox = (path) => openPuppeteer({
  browser: 'firefox',
  executablePath: path,
  protocol: 'webDriverBiDi',
  // No checks for updates, captive portals or remote settings.
  extraPrefsFirefox: { 'app.update.disabledForTesting': true, 'network.captive-portal-service.enabled': false,
    'network.connectivity-service.enabled': false, 'services.settings.server': 'data:,', 'app.normandy.enabled': false },
});

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject).listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** A screen without a screen; gives its process and its DISPLAY. */
function startScreen() {
  return new Promise((resolve, reject) => {
    const child = start('Xvfb', ['-displayfd', '3', '-screen', '0', '1280x1024x24', '-nolisten', 'tcp'],
      { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
    child.stdio[3].once('data', (data) => resolve({ child, display: `:${data.toString().trim()}` }));
    child.once('exit', () => reject(new Error('Xvfb did not start')));
  });
}

/** A page of WebKitGTK, spoken to in plain W3C WebDriver. */
class WebKitPage {
  #session;
  #children;
  #home;
  errors = []; // WebDriver does not tell; tests that need them ask the page

  static async open(browserPath) {
    const page = new WebKitPage();
    const screen = await startScreen();
    const port = await freePort();
    page.#home = mkdtempSync(join(tmpdir(), 'lengthwise-webkit-'));
    const env = { ...process.env, DISPLAY: screen.display, HOME: page.#home, XDG_RUNTIME_DIR: page.#home, GDK_BACKEND: 'x11',
      LIBGL_ALWAYS_SOFTWARE: '1', NO_AT_BRIDGE: '1', GTK_USE_PORTAL: '0' };
    page.#children = [start('WebKitWebDriver', [`--port=${port}`, '--host=127.0.0.1'], { env }), screen.child];
    page.#session = `http://127.0.0.1:${port}`;
    try {
      const alwaysMatch = { browserName: 'MiniBrowser', 'webkitgtk:browserOptions': { binary: browserPath, args: ['--automation'] } };
      const { sessionId } = await page.#begin({ capabilities: { alwaysMatch } });
      page.#session += `/session/${sessionId}`;
      await page.#send('POST', '/timeouts', { script: 600_000, pageLoad: 60_000, implicit: 0 });
    } catch (error) {
      await page.close();
      throw error;
    }
    return page;
  }

  /** The driver takes a moment before it listens. */
  async #begin(body) {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#send('POST', '/session', body);
      } catch (error) {
        if (attempt === 40 || error.webdriver) throw error;
        await new Promise((resolve) => { setTimeout(resolve, 250); });
      }
    }
  }

  async #send(method, path, body) {
    const response = await fetch(this.#session + path, {
      method, body: body && JSON.stringify(body), headers: { 'content-type': 'application/json' }, signal: AbortSignal.timeout(620_000) });
    const { value } = await response.json();
    if (!response.ok) throw Object.assign(new Error(`WebKitWebDriver: ${value?.error}: ${value?.message}`), { webdriver: true });
    return value;
  }

  goto(url) { return this.#send('POST', '/url', { url }); }

  async evaluate(body, ...args) {
    const code = typeof body === 'string' ? `return (${body})` : `return (${body}).apply(null, parameters)`;
    const script = `const done = arguments[arguments.length - 1], parameters = arguments[0];
      (async () => { ${code} })().then((value) => done({ value }), (error) => done({ error: String(error) }));`;
    const { value, error } = await this.#send('POST', '/execute/async', { script, args: [args] });
    if (error) throw new Error(error);
    return value;
  }

  async click(selector) {
    const found = await this.#send('POST', '/element', { using: 'css selector', value: selector });
    await this.#send('POST', `/element/${Object.values(found)[0]}/click`, {});
  }

  async screenshot(path) {
    writeFileSync(path, Buffer.from(await this.#send('GET', '/screenshot'), 'base64'));
  }

  async close() {
    if (this.#session.includes('/session/')) await this.#send('DELETE', '').catch(() => {});
    for (const child of this.#children) child.kill();
    rmSync(this.#home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Waits until `condition`, run in the page, gives something true; gives that. */
async function waitFor(condition, { timeout = 30_000, args = [], every = 100 } = {}) {
  const end = Date.now() + timeout;
  for (;;) {
    const value = await this.evaluate(condition, ...args);
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited ${timeout / 1000} s in vain for ${condition}`);
    await new Promise((resolve) => { setTimeout(resolve, every); });
  }
}
PuppeteerPage.prototype.waitFor = waitFor;
WebKitPage.prototype.waitFor = waitFor;

/**
 * Chromium, Firefox and WebKitGTK; `skip` says why one is not there (false when it is).
 * `open(url)` starts the browser with one page: goto, evaluate, waitFor, click, screenshot, errors, close, and
 * `raw`, puppeteer's page, undefined in WebKit.
 */
export function browsers() {
  const chromium = chromiumPath();
  const firefox = firefoxPath();
  const webkit = miniBrowser();
  const webkitLack = [webkit ? '' : 'MiniBrowser (libwebkit2gtk)', which('WebKitWebDriver') ? '' : 'webkit2gtk-driver', which('Xvfb') ? '' : 'xvfb']
    .filter(Boolean).join(', ');
  const entry = (name, skip, path, launch) => ({
    name, skip, version: skip ? null : version(path) ?? null,
    async open(url) {
      const page = await launch(path);
      if (url) await page.goto(url);
      return page;
    },
  });
  return [
    entry('chromium', chromium ? false : 'Chromium is not installed: please install the package chromium', chromium, openChromium),
    entry('firefox', firefox ? false : 'Firefox is not installed: please install the package firefox-esr', firefox, openFirefox),
    entry('webkit', webkitLack ? `WebKitGTK cannot be driven: please install ${webkitLack}` : false, which('WebKitWebDriver'), () => WebKitPage.open(webkit)),
  ];
}
