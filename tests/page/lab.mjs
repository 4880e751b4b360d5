// The page of the experiment, for tests.

/** Waits for the page where it went; `deep(path)` in it then looks into shadow trees too, each word of the path below the one before. */
export async function arrive(page) {
  await page.evaluate(() => {
    const inside = (from, selector) => [
      ...from.querySelectorAll(selector),
      ...[from, ...from.querySelectorAll('*')].flatMap((element) => (element.shadowRoot ? inside(element.shadowRoot, selector) : [])),
    ];
    window.deepAll = (path) => path.split(' ').reduce((roots, selector) => roots.flatMap((root) => inside(root, selector)), [document]);
    window.deep = (path) => window.deepAll(path)[0];
  });
  await page.waitFor(() => window.deep('lengthwise-encodings li') !== undefined);
}

/** A browser with the page open. */
export async function open(browser, address) {
  const page = await browser.open();
  await page.goto(address);
  await arrive(page);
  return page;
}

/** Clicks the button that does this. */
export const press = (page, action) => page.evaluate((name) => window.deep(`[data-action=${name}]`).click(), action);
