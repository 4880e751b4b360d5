// Builds everything into dist/: the six WebAssembly modules, the texts of the catalogue, the TypeScript, the page. Each step is
// skipped when nothing it reads has changed. `npm run build` runs it; start and test import it.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ask, meter, Problem, run, say, which } from './host.mjs';
import { ensureToolchain, fail } from './setup.mjs';

export const project = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '');
const at = (...names) => join(project, ...names);
const bin = (name) => at('node_modules/.bin', name);

/** Every file under the paths, as "path size mtime" lines: changes when any of them does. */
function fingerprint(paths, skip) {
  const lines = [];
  const visit = (path) => {
    const info = statSync(path, { throwIfNoEntry: false });
    if (!info || skip?.test(path)) return;
    if (info.isDirectory()) for (const name of readdirSync(path).sort()) visit(join(path, name));
    else lines.push(`${path} ${info.size} ${info.mtimeMs}`);
  };
  for (const path of paths) visit(at(path));
  return createHash('sha256').update(lines.join('\n')).digest('hex');
}

/** Runs `work` unless it succeeded before with the same inputs and `output` is still there. */
async function once(name, { inputs, output, skip }, work) {
  const stamp = at('build/stamps', name);
  const fresh = () => fingerprint(inputs, skip);
  if (existsSync(at(output)) && existsSync(stamp) && readFileSync(stamp, 'utf8') === fresh()) return;
  rmSync(stamp, { force: true });
  await work();
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, fresh());
}

/** `npm ci`, when node_modules does not match the lock file. */
export async function ensureModules() {
  // npm would empty the folder behind a link, which belongs to somebody else.
  if (lstatSync(at('node_modules'), { throwIfNoEntry: false })?.isSymbolicLink()) return;
  const lock = existsSync(at('package-lock.json'));
  const inputs = [lock ? 'package-lock.json' : 'package.json'];
  await once('modules', { inputs, output: 'node_modules/.package-lock.json' }, async () => {
    if (!which('npm')) throw new Problem('Please install npm, which is needed to install the development packages.');
    say(`installing the development packages (npm ${lock ? 'ci' : 'install'})`);
    const args = [lock ? 'ci' : 'install', '--no-fund', '--no-audit', '--loglevel=error'];
    await run('npm', args, { cwd: project }).catch((error) => {
      say(error.message);
      throw new Problem('"npm ci" failed: please check the network and npm\'s registry, and try again.');
    });
  });
}

/** Runs ninja with a meter; what the compiler says is shown when it fails. */
function ninja(preset, targets, env) {
  return new Promise((resolve, reject) => {
    const child = spawn('ninja', ['-C', at('build', preset), ...targets], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const progress = meter(`compiling ${preset}:`);
    const rest = [];
    let pending = '';
    const read = (data) => {
      const lines = (pending + data).split('\n');
      pending = lines.pop();
      for (const line of lines) {
        const step = /^\[(\d+\/\d+)\]/.exec(line);
        if (step) progress.show(step[1]);
        else rest.push(line);
      }
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('error', reject);
    child.on('close', (code) => {
      progress.end();
      if (code === 0) return resolve();
      reject(new Problem(`${rest.concat(pending).join('\n')}\nCompiling ${preset} failed: see the messages above.`));
    });
  });
}

/**
 * Configures a CMake preset when needed; gives the build folder.
 * @param {'native'|'sanitize'|'wasm'|'wasm-relaxed'} preset
 */
async function configurePreset(preset) {
  const tools = await ensureToolchain();
  const folder = at('build', preset);
  const stamp = join(folder, 'made-with');
  // CMake cannot change tools or folders in place.
  const made = [project, tools.root, tools.headers, which('cmake'), which('c++') ?? which('g++')].join('\n');
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== made) {
    rmSync(folder, { recursive: true, force: true });
    say(`configuring ${preset}`);
    await run('cmake', ['--preset', preset], { cwd: project, env: tools.env });
    writeFileSync(stamp, made);
  }
  return folder;
}

/** Configures and builds targets of a preset; gives the build folder. */
export async function buildPreset(preset, targets) {
  const folder = await configurePreset(preset);
  await ninja(preset, targets, (await ensureToolchain()).env);
  return folder;
}

/** True when `target` exists in a configured build folder. */
export const hasTarget = (folder, target) => readFileSync(join(folder, 'build.ninja'), 'utf8').includes(`build ${target}:`);

function copyChanged(from, to) {
  const same = existsSync(to) && readFileSync(from).equals(readFileSync(to));
  if (!same) copyFileSync(from, to);
}

async function buildModules() {
  const targets = ['lengthwise_module', 'lengthwise_threads_module', 'lengthwise_inference_module', 'kernels']; // kernels: what the page of the bench measures
  const [simd, relaxed] = [await buildPreset('wasm', targets), await buildPreset('wasm-relaxed', targets)];
  const built = Object.fromEntries(['', 'threads', 'inference'].flatMap((part) => [[simd, ''], [relaxed, '-relaxed']].map(([folder, variant]) =>
    [`${part && `-${part}`}${variant}`, join(folder, part)])));
  // One loader for all: the modules for inference only want less of it.
  const loaders = new Set(Object.values(built).filter((folder) => !folder.endsWith('inference')).map((folder) => readFileSync(join(folder, 'lengthwise.mjs'), 'utf8')));
  if (loaders.size > 1) throw new Problem('lengthwise.mjs differs between the modules: one cannot start all.');
  // Nobody looks into what Emscripten wrote: half the letters, a millisecond less until it is read.
  const loader = join(simd, 'lengthwise.min.mjs');
  await run(bin('esbuild'), [join(simd, 'lengthwise.mjs'), '--minify', '--define:process=globalThis.process', `--outfile=${loader}`, '--log-level=warning'], { cwd: project });
  copyChanged(loader, at('dist/lengthwise.mjs'));
  for (const [name, folder] of Object.entries(built)) copyChanged(join(folder, 'lengthwise.wasm'), at(`dist/lengthwise${name}.wasm`));
}

/** The catalogue's texts, which the modules leave out: dist/texts.mjs, by encoding and option. */
async function buildTexts() {
  const folder = await buildPreset('wasm', ['lengthwise_texts']);
  const program = join(folder, 'lengthwise_texts.cjs');
  await once('texts', { inputs: [relative(project, program), relative(project, program.replace('cjs', 'wasm'))], output: 'dist/texts.mjs' }, () => {
    const said = ask(process.execPath, [program]);
    if (!said) throw new Problem(`${program} did not print the catalogue.`);
    const texts = Object.fromEntries(JSON.parse(said).map(({ name, title, title_zh, paper, past_note, past_note_zh, differs, differs_zh, options }) => [name,
      { title, title_zh, paper, past_note, past_note_zh, differs, differs_zh,
        options: Object.fromEntries(options.map((option) => [option.name, { meaning: option.meaning, meaning_zh: option.meaning_zh }])) }]));
    writeFileSync(at('dist/texts.mjs'), `export const texts = ${JSON.stringify(texts, null, 1)};\n`);
  });
}

// Small libraries whose files travel beside ours, so that the package works without a bundler.
const COMPANIONS = {
  'comlink.mjs': 'comlink/dist/esm/comlink.mjs',
  'node-adapter.mjs': 'comlink/dist/esm/node-adapter.mjs',
  'tinyqueue.mjs': 'tinyqueue/index.js',
};

function copyCompanions() {
  const licences = new Map();
  for (const [name, path] of Object.entries(COMPANIONS)) {
    if (!existsSync(at('node_modules', path))) continue;
    // A map of a file that is not there would make every debugger complain.
    const text = readFileSync(at('node_modules', path), 'utf8').replace(/^\/\/# sourceMappingURL=.*$/m, '');
    writeFileSync(at('dist', name), text);
    const owner = path.split('/')[0];
    const licence = readdirSync(at('node_modules', owner)).find((file) => /^licen[cs]e/i.test(file));
    if (licence) licences.set(owner, readFileSync(at('node_modules', owner, licence), 'utf8'));
  }
  for (const name of readdirSync(at('bindings')).filter((file) => file.endsWith('.d.mts'))) copyFileSync(at('bindings', name), at('dist', name));
  writeFileSync(at('dist/THIRD-PARTY.txt'), [...licences].map(([name, text]) => `${name}\n\n${text}`).join('\n\n'));
}

async function buildTypeScript() {
  if (!existsSync(at('bindings/tsconfig.json'))) return;
  const inputs = ['bindings', 'dist/lengthwise.mjs', 'node_modules/.package-lock.json']; // the bundles hold the loader
  await once('typescript', { inputs, output: 'dist/index.js', skip: /\.(cpp|h)$|\/toolchain$/ }, async () => {
    say('compiling the TypeScript');
    copyCompanions();
    await run(bin('tsc'), ['-p', 'bindings/tsconfig.json', '--pretty', 'false'], { cwd: project }).catch((error) => {
      throw new Problem(`${error.message}\nThe TypeScript in bindings/ does not compile: see the messages above.`);
    });
    await bundleEntries();
  });
}

// What a program imports comes in few files: thirty small ones take longer to find than to run. Names stay, so that a
// stack still tells where.
async function bundleEntries() {
  const entries = ['index', 'remote', 'worker', 'thread'].map((name) => at('dist', `${name}.js`));
  for (const name of readdirSync(at('dist'))) if (/^shared-.*\.js$/.test(name)) rmSync(at('dist', name));
  await run(bin('esbuild'), [...entries, '--bundle', '--splitting', '--format=esm', '--platform=neutral', '--target=es2022', `--outdir=${at('dist')}`,
    '--allow-overwrite', '--chunk-names=shared-[hash]', '--minify-whitespace', '--minify-syntax', '--external:node:*', '--log-level=warning'], { cwd: project });
  // Without white space it also leaves out what tells bundlers that an address is known only when the program runs.
  for (const name of readdirSync(at('dist')).filter((file) => /^(index|remote|worker|shared-.*)\.js$/.test(file))) {
    const text = readFileSync(at('dist', name), 'utf8'), told = text.replace(/\bimport\((\w+)\)/g, 'import(/* webpackIgnore: true */ /* @vite-ignore */ $1)');
    if (told !== text) writeFileSync(at('dist', name), told);
  }
}

async function buildPage() {
  if (!existsSync(at('web')) || !readdirSync(at('web')).some((name) => /^vite\.config\./.test(name))) return;
  const kernels = ['wasm', 'wasm-relaxed'].map((preset) => `build/${preset}/kernels.wasm`);
  const inputs = ['web', 'dist', 'src/position/encodings', 'tests/bench', ...kernels, 'node_modules/.package-lock.json'];
  await once('page', { inputs, output: 'dist/web/lengthwise.html', skip: /\/(dist\/web|peers\/node_modules)$/ }, async () => {
    say('building the page');
    for (const mode of ['production', 'offline']) {
      await run(bin('vite'), ['build', 'web', '--mode', mode, '--logLevel', 'warn'], { cwd: project }).catch((error) => {
        throw new Problem(`${error.message}\nThe page in web/ does not build: see the messages above.`);
      });
    }
  });
}

/** Everything that `npm start` and the tests of package and page need. */
export async function buildAll() {
  mkdirSync(at('dist'), { recursive: true });
  await ensureToolchain(); // first: it may have to say what to install
  await ensureModules();
  await buildModules();
  await buildTexts();
  await buildTypeScript();
  await buildPage();
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await buildAll().then(() => say('built dist/'), fail);
}
