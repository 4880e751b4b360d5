// Follows the recipe of CONTRIBUTING.md to the letter, in a copy of the project: the loops over the catalogue must find the
// new encoding, fail without its golden, pass with it, and nothing else may have been touched.
//   node recipe.mjs <build folder with lengthwise_tests>
// Only what reads the list is compiled again; the rest is linked from the build. Without numpy for the oracle the golden
// and its check are left out (told on standard output).
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const project = fileURLToPath(new URL('../../../', import.meta.url)).replace(/\/$/, '');
const build = process.argv[2];
const scratch = mkdtempSync(join(tmpdir(), 'lengthwise-recipe-'));
const FOLDERS = ['src', 'tests/native', 'tests/oracle', 'tests/golden'];

function ensure(holds, message) {
  if (!holds) throw new Error(message);
}

/** The code that CONTRIBUTING.md shows for a path. */
function shown(path) {
  const text = readFileSync(join(project, 'CONTRIBUTING.md'), 'utf8');
  const found = text.slice(text.indexOf('### The smallest one')).split(`\`${path}\`:`)[1]?.match(/^\s*```\w+\n([^]*?)```/);
  ensure(found, `CONTRIBUTING.md shows no code for ${path}`);
  return found[1];
}

function follow() {
  const catalogue = join(scratch, 'src/position/catalogue.h');
  const list = readFileSync(catalogue, 'utf8');
  writeFileSync(catalogue, list.replace(/( {2}X\(nope\) +\\\n)/, `$1${shown('src/position/catalogue.h')}`));
  for (const path of ['src/position/encodings/plateau.cpp', 'tests/oracle/references_plateau.py']) {
    ensure(!existsSync(join(scratch, path)), `${path} is there already`);
    writeFileSync(join(scratch, path), shown(path));
  }
}

/** Files that differ from the project's. */
function touched() {
  return FOLDERS.flatMap((folder) => readdirSync(join(scratch, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(scratch.length + 1)))
    .filter((path) => !path.includes('__pycache__'))
    .filter((path) => !existsSync(join(project, path)) || !readFileSync(join(project, path)).equals(readFileSync(join(scratch, path)))).sort();
}

/** Links the tests with the files that depend on the list compiled anew; gives the program. */
function compile() {
  const commands = JSON.parse(readFileSync(join(build, 'compile_commands.json'), 'utf8'));
  const objects = [['src/position/encodings/alibi.cpp', 'src/position/encodings/plateau.cpp'], ['src/position/catalogue.cpp'], ['tests/native/golden_test.cpp']]
    .map(([model, file = model]) => {
      const { command } = commands.find((entry) => entry.file === join(project, model));
      const object = join(scratch, 'objects', `${file}.o`);
      mkdirSync(dirname(object), { recursive: true });
      const own = command.replaceAll(`${project}/`, `${scratch}/`).replace(/ -o \S+/, ` -o ${object}`).replaceAll(`/${model}`, `/${file}`);
      execFileSync('sh', ['-c', own], { cwd: build, stdio: ['ignore', 'ignore', 'inherit'] });
      return object;
    });
  const tests = join(build, 'CMakeFiles/lengthwise_tests.dir/tests/native');
  const rest = readdirSync(tests).filter((name) => name.endsWith('.o') && !name.startsWith('golden_test')).map((name) => join(tests, name));
  const program = join(scratch, 'tests_with_plateau');
  const compiler = commands[0].command.split(' ').find((word) => /(\+\+|cxx)[^/]*$/.test(word));
  execFileSync(compiler, ['-o', program, ...objects, ...rest, join(build, 'liblengthwise.a')], { stdio: ['ignore', 'ignore', 'inherit'] });
  return program;
}

function run(program, ...filters) {
  const { status, stdout } = spawnSync(program, ['--no-colors=1', ...filters], { encoding: 'utf8', maxBuffer: 1 << 26 });
  return { passed: status === 0, output: stdout, cases: Number(/test cases:\s*(\d+)/.exec(stdout)?.[1]) };
}

/** A Python with numpy, or nothing. */
function oracle() {
  return [process.env.LENGTHWISE_PYTHON, 'python3', 'python'].find((name) => name && spawnSync(name, ['-c', 'import numpy']).status === 0);
}

try {
  for (const folder of FOLDERS) cpSync(join(project, folder), join(scratch, folder), { recursive: true });
  follow();
  const program = compile();

  const without = run(program, '-tc=golden');
  ensure(!without.passed && without.output.includes('no golden file'), `without a golden the tests must fail:\n${without.output}`);
  const python = oracle();
  if (python) {
    execFileSync(python, ['tests/oracle/make_goldens.py', 'plateau'], { cwd: scratch, stdio: 'inherit', env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' } });
    const golden = run(program, '-tc=golden');
    ensure(golden.passed, golden.output);
  } else console.log('no Python with numpy: the golden was not made');
  const loops = run(program, '-sf=*gradient_test*,*spec_test*,*stack_test*,*ids_test*,*model_test*,*cache_test*,*audit_test*');
  ensure(loops.passed && loops.cases > 20, loops.output);

  const expected = ['src/position/catalogue.h', 'src/position/encodings/plateau.cpp', ...(python ? ['tests/golden/plateau.json'] : []), 'tests/oracle/references_plateau.py'];
  ensure(touched().join() === expected.join(), `touched: ${touched().join(', ')}; allowed: ${expected.join(', ')}`);
  console.log(`three files${python ? ' and a golden' : ''}, ${loops.cases} test cases`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true });
}
