import { Command } from 'commander';
import { ByteTokenizer, Llama2Tokenizer, type Tokenizer } from '../tokenizer.js';
import { integerArgument, numberArgument, readBytes } from './arguments.js';
import { readModel, withModel, type ModelOptions } from './model.js';
import { printJson } from './output.js';

interface Options extends ModelOptions {
  tokenizer?: string;
  prompt: string;
  tokens: number;
  temperature: number;
  topK: number;
  topP: number;
  seed: number;
  json?: boolean;
}

export function generateCommand(): Command {
  return withModel(new Command('generate')
    .description('Continues a prompt with a model: one of this package (.safetensors) or a llama2.c checkpoint (.bin).'))
    .option('--tokenizer <file>', 'a llama2.c tokenizer; without it tokens are bytes')
    .requiredOption('--prompt <text>', 'what to continue')
    .option('--tokens <n>', 'how many tokens to generate', integerArgument(0), 100)
    .option('--temperature <t>', '0 takes the likeliest token, 1 follows the model', numberArgument, 1)
    .option('--top-k <k>', 'choose among the k likeliest; 0: all', integerArgument(0), 0)
    .option('--top-p <p>', 'choose among the likeliest that make up this probability', numberArgument, 1)
    .option('--seed <s>', 'same seed, same tokens', integerArgument(0), 0)
    .option('--json', 'print {"tokens":[…],"text":"…"} without the prompt, instead of the running text')
    .addHelpText('after', `
Examples:
  lengthwise generate --model mine.safetensors --prompt "Fellow-Citizens" --temperature 0.8 --seed 7
  lengthwise generate --model stories260K.bin --tokenizer tok512.bin --prompt "Once upon a time" --temperature 0 --json`)
    .action(async (options: Options) => {
      const model = await readModel(options);
      const { vocabulary } = model.config;
      let tokenizer: Tokenizer = new ByteTokenizer();
      if (options.tokenizer !== undefined) tokenizer = new Llama2Tokenizer(await readBytes('tokenizer', options.tokenizer), vocabulary);
      else if (vocabulary !== tokenizer.vocabulary) throw new Error(`the model has ${vocabulary} tokens, not the 256 bytes: give its --tokenizer`);
      const prompt = tokenizer.encode(options.prompt);
      const tokens: number[] = [];
      const whole = () => options.prompt + tokenizer.decode(tokens);
      let shown = 0;
      const { tokens: count, temperature, topK, topP, seed } = options;
      for await (const token of model.generate(prompt, { tokens: count, temperature, topK, topP, seed })) {
        tokens.push(token);
        if (options.json) continue;
        const text = whole();
        if (text.endsWith('\uFFFD')) continue; // perhaps the rest of a character is still to come
        process.stdout.write(text.slice(shown));
        shown = text.length;
      }
      if (options.json) printJson({ tokens, text: tokenizer.decode(tokens) });
      else process.stdout.write(`${whole().slice(shown)}\n`);
    });
}
