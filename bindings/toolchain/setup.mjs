// Finds or makes everything the build needs: Emscripten, CMake, Ninja, a native C++ compiler, and the
// header-only doctest and SIMDe. `node bindings/toolchain/setup.mjs` does it and says what it found.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PrivateApt } from './apt.mjs';
import { ask, cacheFolder, distribution, hasApt, install, isRoot, Problem, say, which, withLock } from './host.mjs';
import { emscriptenPackages, emscriptenRoot, makePrefix, prefixEnvironment, redress, unpack } from './prefix.mjs';

const RECIPE = 1; // raise it when what this file makes changes
const OLDEST_EMCC = [3, 1, 69];
const project = fileURLToPath(new URL('../../', import.meta.url));

const atLeast = (version, least) => {
  const parts = version.split('.').map(Number);
  const index = least.findIndex((part, i) => parts[i] !== part);
  return index < 0 || parts[index] > least[index];
};

/** The emcc of PATH or EMSDK with its version, the first one new enough. */
function installedEmscripten() {
  const places = [which('emcc'), process.env.EMSDK && join(process.env.EMSDK, 'upstream/emscripten/emcc')];
  for (const emcc of places.filter((place) => place && existsSync(place))) {
    const version = /(\d+\.\d+\.\d+)/.exec(ask(emcc, ['--version']) ?? '')?.[1];
    const root = dirname(realpathSync(emcc));
    const complete = existsSync(join(root, 'cmake/Modules/Platform/Emscripten.cmake'));
    if (version && complete && atLeast(version, OLDEST_EMCC)) return { emcc, version, root };
    say(`${emcc} is ${version ?? 'not working'}, ${OLDEST_EMCC.join('.')} or newer is needed: passing it by`);
  }
  return null;
}

// Whose emscripten packages are unpacked privately. Older releases have older ones; what came after trixie's brings no
// system libraries (it compiles them when first used).
const SUITES = { debian: 'trixie', ubuntu: 'resolute' };

function suite() {
  const { id, name } = distribution();
  if (hasApt() && SUITES[id]) return SUITES[id];
  throw new Problem(`On ${name}, please install Emscripten 3.1.69 or newer and put emcc on PATH, and install doctest and SIMDe.`);
}

const python = () => ask('python3', ['-c', 'import sys; print(sys.executable)'])?.trim() || which('python3');

/** Programs that only the system can bring. */
async function systemTools() {
  const wanted = { cmake: ['cmake'], 'ninja-build': ['ninja'], 'g++': ['c++', 'g++', 'clang++'], python3: ['python3'] };
  const missing = Object.keys(wanted).filter((name) => !wanted[name].some(which));
  if (missing.length) await install(missing, 'build the C++ and WebAssembly parts');
}

/** A private apt, opened when the first package is needed. */
function packageSource(cache) {
  let opened;
  const open = async () => {
    if (opened) return opened;
    const apt = new PrivateApt(cache, suite());
    say(`reading the package lists of ${distribution().id} ${apt.suite} (into the cache folder, nothing on the system changes)`);
    await apt.open();
    opened = apt;
    return apt;
  };
  return { open, close: () => opened?.close() };
}

async function emscripten(cache, source) {
  const found = installedEmscripten();
  if (found) return { ...found, home: null };
  const { id, version } = distribution();
  if (id === 'debian' && version === 13 && isRoot) {
    say('Debian\'s own Emscripten takes about 2.5 GB of disk: this may last some minutes');
    await install(['emscripten'], 'compile to WebAssembly');
    const fresh = installedEmscripten();
    if (fresh) return { ...fresh, home: null };
  }
  const interpreter = python();
  const home = join(cache, `emscripten-${suite()}-${RECIPE}`);
  if (existsSync(home)) redress(home, interpreter);
  else {
    const apt = await source.open();
    const debs = await apt.download(emscriptenPackages(apt), 'downloading Emscripten:');
    say('unpacking Emscripten (about 400 MB of disk)');
    await makePrefix(debs, home, interpreter);
    for (const deb of debs) rmSync(deb, { force: true });
  }
  const emcc = join(home, 'bin/emcc');
  const printed = ask(emcc, ['--version']) ?? '';
  const number = /(\d+\.\d+\.\d+)/.exec(printed)?.[1];
  if (!number) throw new Problem(`The unpacked ${emcc} does not start: please remove ${home} and try again.`);
  return { emcc, version: number, root: emscriptenRoot(home), home, environment: prefixEnvironment(home, interpreter) };
}

// Header → package, and what tells that the system's copy is new enough.
const HEADERS = {
  doctest: { package: 'doctest-dev', good: () => true },
  simde: {
    package: 'libsimde-dev',
    // 0.7 lacks much of wasm/simd128.h.
    good: (folder) => /SIMDE_VERSION_MAJOR 0\s[\s\S]*SIMDE_VERSION_MINOR ([89]|\d\d)/.test(
      readFileSync(join(folder, 'simde-common.h'), 'utf8')),
  },
};

/** One folder with both, and nothing else of the system: an include path that emcc can have too. */
async function headers(cache, source) {
  const folder = join(cache, 'include');
  mkdirSync(folder, { recursive: true });
  for (const [name, { package: wanted, good }] of Object.entries(HEADERS)) {
    if (existsSync(join(folder, name))) continue;
    rmSync(join(folder, name), { force: true }); // a link whose end is gone
    const system = join('/usr/include', name);
    if (existsSync(system) && good(system)) symlinkSync(system, join(folder, name));
    else {
      const apt = await source.open();
      const debs = await apt.download([wanted], `downloading ${wanted}:`);
      const part = join(cache, 'include.part');
      rmSync(part, { recursive: true, force: true });
      await unpack(debs, part);
      renameSync(join(part, 'usr/include', name), join(folder, name));
      for (const path of [part, ...debs]) rmSync(path, { recursive: true, force: true });
    }
  }
  return folder;
}

/** Everything the result depends on; another key means looking again. */
function fingerprint() {
  const emcc = which('emcc');
  const parts = [RECIPE, emcc, emcc && statSync(emcc).mtimeMs, process.env.EMSDK, process.execPath,
    ...['cmake', 'ninja', 'python3'].map(which), distribution().codename];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
}

function stamped(path) {
  try {
    const { key, tools } = JSON.parse(readFileSync(path, 'utf8'));
    const there = [tools.emcc, join(tools.headers, 'simde/simde-common.h'), join(tools.headers, 'doctest')];
    const programs = which('cmake') && which('ninja') && ['c++', 'g++', 'clang++'].some(which);
    return key === fingerprint() && programs && there.every((each) => existsSync(each)) ? tools : null;
  } catch {
    return null;
  }
}

/**
 * @returns {Promise<{
 *   emcc: string, version: string, root: string, headers: string, toolchainFile: string,
 *   env: Record<string, string> }>} `env` is a whole environment to start cmake, ninja and emcc with
 */
export async function ensureToolchain() {
  const cache = cacheFolder();
  mkdirSync(cache, { recursive: true });
  const stamp = join(cache, 'toolchain.json');
  let tools = stamped(stamp);
  if (!tools) {
    await withLock(join(cache, 'lock'), async () => {
      tools = stamped(stamp); // another start may have made it meanwhile
      if (tools) return;
      await systemTools();
      const source = packageSource(cache);
      tools = { ...await emscripten(cache, source), headers: await headers(cache, source) };
      source.close();
      writeFileSync(`${stamp}.part`, JSON.stringify({ key: fingerprint(), tools }, null, 2));
      renameSync(`${stamp}.part`, stamp);
    });
  }
  const path = [join(project, 'node_modules/.bin'), dirname(tools.emcc), process.env.PATH].join(delimiter);
  return {
    ...tools,
    toolchainFile: join(tools.root, 'cmake/Modules/Platform/Emscripten.cmake'),
    env: { ...process.env, ...tools.environment, PATH: path, LENGTHWISE_HEADERS: tools.headers, EMSCRIPTEN_ROOT: tools.root },
  };
}

/** Ends the process with a problem's one sentence, or with the stack of a mistake of ours. */
export function fail(error) {
  process.stderr.write(`${error instanceof Problem ? error.message : error?.stack ?? error}\n`);
  process.exit(1);
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const tools = await ensureToolchain().catch(fail);
  console.log(`emcc       ${tools.emcc} (${tools.version})`);
  console.log(`toolchain  ${tools.toolchainFile}`);
  console.log(`headers    ${tools.headers} (doctest, SIMDe)`);
  for (const name of ['cmake', 'ninja', 'c++']) console.log(`${name.padEnd(10)} ${which(name)}`);
}
