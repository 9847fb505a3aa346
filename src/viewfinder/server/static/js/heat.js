/** Pure shapes behind the heat maps: weights of boxes to a grid, a grid to colours. */

/**
 * Weights of boxes as a grid of heat. A cell holds the weight per area of all boxes over it: 1 everywhere if all of
 * the picture answers alike, 4 where four times its share of attention lies.
 * @param {number[][]} boxes  [x0, y0, x1, y1] as shares @param {number[]} weights
 * @param {number} columns @param {number} rows @returns {Float32Array} row by row
 */
export function heatGrid(boxes, weights, columns, rows) {
  const heat = new Float32Array(columns * rows);
  boxes.forEach(([x0, y0, x1, y1], index) => {
    const density = weights[index] / Math.max((x1 - x0) * (y1 - y0), 1e-6);
    const wideX = Array.from({ length: columns }, (_, x) => overlap(x / columns, (x + 1) / columns, x0, x1) * columns);
    for (let y = 0; y < rows; y += 1) {
      const high = overlap(y / rows, (y + 1) / rows, y0, y1) * rows;
      if (high > 0) for (let x = 0; x < columns; x += 1) heat[y * columns + x] += density * high * wideX[x];
    }
  });
  return heat;
}

const overlap = (a0, a1, b0, b1) => Math.max(0, Math.min(a1, b1) - Math.max(a0, b0));

/** Each cell as the mean of itself and its neighbours: boxes have edges, what people look at has none. */
export function softened(heat, columns, rows) {
  return heat.map((_, index) => {
    const [x, y] = [index % columns, Math.floor(index / columns)];
    let [sum, count] = [0, 0];
    for (let v = Math.max(0, y - 1); v <= Math.min(rows - 1, y + 1); v += 1)
      for (let u = Math.max(0, x - 1); u <= Math.min(columns - 1, x + 1); u += 1) (sum += heat[v * columns + u]), (count += 1);
    return sum / count;
  });
}

/** Heat as colours: a veil where it is cold, a warm light where it is hot; thin where a picture answers nowhere in
 * particular. @param {Float32Array} heat @returns {Uint8ClampedArray} RGBA */
export function heatColours(heat) {
  const hot = Math.max(...heat);
  const cold = Math.min(0.75, hot / 2);
  const strength = Math.min(1, Math.max(0.4, hot - 1));
  const pixels = new Uint8ClampedArray(heat.length * 4);
  heat.forEach((value, index) => {
    const share = Math.min(1, Math.max(0, (value - cold) / (hot - cold)));
    pixels.set([14 + 241 * share, 16 + 150 * share, 24 + 6 * share, 255 * strength * (0.6 - 0.42 * Math.sqrt(share))], index * 4);
  });
  return pixels;
}

/**
 * The slot of a hit's `why.regions` that a word, chip or turn is about, or null.
 * @param {{slots: {said: string, turn: number, weights: number[]}[], boxes: number[][]}|undefined} regions
 * @param {{text?: string, turn?: number, label?: string}} hover
 */
export function slotOf(regions, hover) {
  if (!regions?.boxes?.length) return null;
  const said = (hover.label ?? hover.text ?? "").toLowerCase();
  const about = (slot) => said !== "" && slot.said.toLowerCase().split(/[^\p{L}\p{N}'’-]+/u).join(" ").includes(said);
  const same = (slot) => hover.turn !== undefined && slot.turn === hover.turn;
  const found = regions.slots.filter((slot) => (said ? about(slot) : same(slot)));
  return found.sort((one, other) => other.adds - one.adds)[0] ?? null;
}
