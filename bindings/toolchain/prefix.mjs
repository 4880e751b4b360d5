// A private Emscripten: Debian's packages of a newer suite, unpacked into a folder of our own. Their
// programs need a newer libc than the machine has, so each is started through the folder's own loader.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ask, meter, Problem } from './host.mjs';

const LLVM_TOOLS = ['clang', 'clang++', 'wasm-ld', 'llvm-ar', 'llvm-ranlib', 'llvm-nm', 'llvm-objcopy',
  'llvm-strip', 'llvm-dwarfdump', 'llvm-dwp', 'llvm-size', 'llvm-cxxfilt', 'llvm-objdump', 'llvm-readobj'];
const LAUNCHERS = ['emcc', 'em++', 'emar', 'emranlib', 'emnm', 'emcmake', 'emmake', 'emconfigure', 'em-config', 'emsize'];

// Libraries in the closure that no compiler for WebAssembly loads.
const USELESS = /-dev$|^lib(python|node|[a-z]+san\d|itm|objc|quadmath|gomp|gprofng|binutils|ctf|sframe|jansson|clang1-|crypt1|gc1|db5|sqlite|readline|ncurses|uuid|ssl|expat|nsl|tirpc)/;

// Most of the emscripten package is its tests and system libraries for threads, LTO and sanitizers.
const SKIPPED = ['./usr/share/doc', './usr/share/man', './usr/share/locale', './usr/share/emscripten/test',
  './usr/share/emscripten/docs', './usr/share/nodejs/@types', './usr/share/emscripten/cache/symbol_lists', '*/wasm32-emscripten/lto', '*/wasm32-emscripten/lto-pic',
  '*/wasm32-emscripten/pic', '*/wasm64-emscripten', '*/wasm32-emscripten/*-mt*.a', '*/wasm32-emscripten/*-ww*.a',
  '*/wasm32-emscripten/*san*.a', '*/wasm32-emscripten/libGL-emu*.a'];

/** Names of the packages to fetch. @param {import('./apt.mjs').PrivateApt} apt */
export function emscriptenPackages(apt) {
  const llvm = apt.closure(['emscripten']).map((name) => /^clang-(\d+)$/.exec(name)?.[1]).find(Boolean);
  if (!llvm) throw new Problem(`The emscripten package of ${apt.suite} names no clang: please put emcc 3.1.69 or newer on PATH.`);
  const compilers = [`clang-${llvm}`, `lld-${llvm}`, 'binaryen'];
  const libraries = apt.closure(compilers).filter((name) => name.startsWith('lib') && !USELESS.test(name));
  return ['emscripten', ...compilers, `llvm-${llvm}`, `libclang-common-${llvm}-dev`, 'node-acorn', ...libraries];
}

function unpackOne(deb, folder) {
  return new Promise((resolve, reject) => {
    const archive = spawn('dpkg-deb', ['--fsys-tarfile', deb], { stdio: ['ignore', 'pipe', 'inherit'] });
    const tar = spawn('tar', ['-x', '--no-same-owner', '-C', folder, ...SKIPPED.map((path) => `--exclude=${path}`)],
      { stdio: [archive.stdout, 'ignore', 'inherit'] });
    // The pipe is the child's now; holding our end too would hide a writer's death.
    archive.stdout.destroy();
    const codes = [];
    const done = (code) => {
      codes.push(code);
      if (codes.length < 2) return;
      if (codes.every((value) => value === 0)) resolve();
      else reject(new Problem(`Could not unpack ${basename(deb)}: please check the free space in the cache folder and try again.`));
    };
    for (const child of [archive, tar]) child.on('error', reject).on('close', done);
  });
}

export async function unpack(debs, folder) {
  mkdirSync(folder, { recursive: true });
  const progress = meter('unpacking');
  for (const [index, deb] of debs.entries()) {
    progress.show(`${basename(deb).split('_')[0]} (${index + 1} of ${debs.length})`);
    await unpackOne(deb, folder);
  }
  progress.end();
}

const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function script(path, lines) {
  rmSync(path, { force: true });
  writeFileSync(path, `#!/bin/sh\n${lines.join('\n')}\n`, { mode: 0o755 });
}

/** @returns the one entry of `folder` that matches */
function only(folder, pattern) {
  const name = existsSync(folder) && readdirSync(folder).find((entry) => pattern.test(entry));
  if (!name) throw new Error(`nothing like ${pattern} in ${folder}`);
  return join(folder, name);
}

/**
 * Writes the wrappers and the configuration into an unpacked `tree` that will live at `home`.
 * @returns {void}
 */
function dress(tree, home, python) {
  const llvm = only(join(tree, 'usr/lib'), /^llvm-\d+$/);
  const libraries = only(join(tree, 'usr/lib'), /-linux-gnu/);
  const loader = only(libraries, /^ld-linux.*\.so\.\d$/);
  const resources = only(join(llvm, 'lib/clang'), /^\d+$/);
  const moved = (path) => path.replace(tree, home);
  const path = [libraries, join(llvm, 'lib')].map(moved).join(':');
  const tools = join(tree, 'tools/bin');
  for (const folder of [tools, join(tree, 'bin')]) mkdirSync(folder, { recursive: true });

  const start = (program, extra = '') => [
    `exec ${quote(moved(loader))} --inhibit-cache --library-path ${quote(path)} ${quote(moved(program))}${extra} "$@"`];
  for (const name of LLVM_TOOLS) {
    const extra = name.startsWith('clang') ? ` -resource-dir ${quote(moved(resources))}` : '';
    script(join(tools, name), start(join(llvm, 'bin', name), extra));
  }
  const unused = readdirSync(join(llvm, 'bin')).filter((name) => !LLVM_TOOLS.includes(name) && name !== 'lld' && !/^clang/.test(name));
  const targets = LLVM_TOOLS.map((name) => basename(realpathSync(join(llvm, 'bin', name))));
  for (const name of unused.filter((each) => !targets.includes(each))) rmSync(join(llvm, 'bin', name));
  for (const name of readdirSync(join(tree, 'usr/bin')).filter((each) => /^wasm(-|2js)/.test(each) && !/^wasm-ld/.test(each))) {
    script(join(tools, name), start(join(tree, 'usr/bin', name)));
  }

  const emscripten = join(tree, 'usr/share/emscripten');
  // Emscripten reads the configuration beside it when EM_CONFIG is not set, and Node finds acorn here.
  writeFileSync(join(emscripten, '.emscripten'), [
    `LLVM_ROOT = ${JSON.stringify(join(home, 'tools/bin'))}`,
    `BINARYEN_ROOT = ${JSON.stringify(join(home, 'tools'))}`,
    `NODE_JS = ${JSON.stringify(process.execPath)}`,
    `CACHE = ${JSON.stringify(join(home, 'usr/share/emscripten/cache'))}`,
    'FROZEN_CACHE = True',
    ''].join('\n'));
  const modules = join(emscripten, 'node_modules');
  if (!existsSync(modules)) symlinkSync('../nodejs', modules);

  for (const name of LAUNCHERS.filter((each) => existsSync(join(emscripten, each)))) {
    script(join(tree, 'bin', name), [
      ...Object.entries(prefixEnvironment(home, python)).map(([key, value]) => `export ${key}=${quote(value)}`),
      `exec ${quote(moved(join(emscripten, name)))} "$@"`]);
  }
}

export const emscriptenRoot = (home) => join(home, 'usr/share/emscripten');

/** What emcc must find in its environment, whichever way it is started. */
export function prefixEnvironment(home, python) {
  return {
    EM_CONFIG: join(emscriptenRoot(home), '.emscripten'),
    EMSDK_PYTHON: python,
    NODE_PATH: join(home, 'usr/share/nodejs'),
  };
}

/** Rewrites what depends on the machine's Node and Python, which may have moved since. */
export const redress = (home, python) => dress(home, home, python);

/** Unpacks `debs` to `home`, whole or not at all. */
export async function makePrefix(debs, home, python) {
  const tree = `${home}.part`;
  rmSync(tree, { recursive: true, force: true });
  await unpack(debs, tree);
  dress(tree, home, python);
  rmSync(home, { recursive: true, force: true });
  renameSync(tree, home);
  const clang = ask(join(home, 'tools/bin/clang'), ['--version']);
  const opt = ask(join(home, 'tools/bin/wasm-opt'), ['--version']);
  if (!clang || !opt) {
    rmSync(home, { recursive: true, force: true });
    throw new Problem('The unpacked compiler does not start on this machine: please put emcc 3.1.69 or newer on PATH.');
  }
}
