// Long work lets others have a turn: messages, timers, the page.

const EVERY = 12; // milliseconds of work between two turns
let last = 0;

/** Whether it is time to let others have a turn. */
export function takeBreath(): boolean {
  return performance.now() - last >= EVERY;
}

/** Gives the event loop one full turn. MessageChannel is not clamped to 4 ms as nested timers are in browsers. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      last = performance.now();
      resolve();
    };
    port2.postMessage(0);
  });
}
