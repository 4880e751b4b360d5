// npm run bench -- <name> [native]: builds one of the benches and runs it as WebAssembly, or natively.
//   encodings   what each plan costs beside one attention pass         product, attention   GFLOP/s of the kernels
//   foundation  time to ready, size, training steps a second           (all print what they measure)
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildAll, buildPreset } from '../../bindings/toolchain/build.mjs';
import { Problem } from '../../bindings/toolchain/host.mjs';
import { fail } from '../../bindings/toolchain/setup.mjs';

const programs = { encodings: 'plan_bench', product: 'product_bench', attention: 'attention_bench' };
const [name, native] = process.argv.slice(2);

async function bench() {
  if (name === 'foundation') {
    await buildAll();
    return [process.execPath, [fileURLToPath(new URL('foundation.mjs', import.meta.url)), ...process.argv.slice(3)]];
  }
  const program = programs[name];
  if (!program) throw new Problem(`npm run bench -- ${name ?? '<name>'}: the name is one of ${[...Object.keys(programs), 'foundation'].join(', ')}`);
  const folder = await buildPreset(native ? 'native' : 'wasm', [program]);
  return native ? [join(folder, program), []] : [process.execPath, [join(folder, `${program}.cjs`)]];
}

try {
  const [command, args] = await bench();
  execFileSync(command, args, { stdio: 'inherit' });
} catch (error) {
  fail(error);
}
