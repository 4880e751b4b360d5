// Training steps a second, the same in Node and in a page.

const [batch, length, vocabulary] = [16, 64, 256];

/** One line of text for each encoding. @param lw what load() gives */
export function stepRates(lw, encodings = ['nope', 'rope', 'alibi', 't5', 'cope']) {
  const tokens = Int32Array.from({ length: batch * (length + 1) }, (_, i) => (i * 7919) % vocabulary);
  return encodings.map((encoding) => {
    const model = lw.model({ vocabulary, width: 64, layers: 4, heads: 4, trainedLength: length, encoding }, { seed: 1 });
    const trainer = model.trainer({ steps: 1000 });
    // Until the engine has compiled what is hot with all its care, which the first model waits for.
    for (const until = performance.now() + 3000; performance.now() < until;) trainer.step(tokens, { batch, length });
    const rates = Array.from({ length: 7 }, () => {
      const started = performance.now();
      for (let i = 0; i < 10; i++) trainer.step(tokens, { batch, length });
      return 10_000 / (performance.now() - started);
    }).sort((a, b) => a - b);
    const line = `training step, ${model.parameterCount} parameters, ${encoding}, ${batch} × ${length} tokens, ${lw.variant}: ` +
      `median ${rates[3].toFixed(1)} steps/s, best ${rates[6].toFixed(1)}`;
    model.dispose();
    return line;
  });
}
