// Options of a bench; what is wrong with them is said in a sentence.
import { parseArgs } from 'node:util';

/** @returns {never} */
export function refuse(sentence) {
  console.error(`${sentence} (npm run bench -- --help)`);
  process.exit(2);
}

/** The values of `options`, as parseArgs takes them; `allowed` names the words of some, which may be put together with commas. */
export function given(options, allowed = {}) {
  let values;
  try {
    ({ values } = parseArgs({ options }));
  } catch (error) {
    refuse(error.message);
  }
  for (const [name, words] of Object.entries(allowed)) {
    const wrong = listed(values[name])?.find((word) => !words.includes(word));
    if (wrong !== undefined) refuse(`--${name} is ${wrong}; there are ${words.join(', ')}`);
  }
  return values;
}

export const listed = (text) => text?.split(',').map((word) => word.trim()).filter(Boolean);

/** Milliseconds of a clock: that on the wall, or of this process's work where others use the machine. */
export function clock(name) {
  if (name === 'wall') return () => performance.now();
  return () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  };
}
