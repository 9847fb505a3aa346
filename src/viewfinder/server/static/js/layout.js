// @ts-check
/** Where the pictures of a ranking stand: pure arithmetic, no page. */

/** @typedef {{x: number, y: number, width: number, height: number, row: number}} Box */

/** Very wide and very tall pictures are cut to these shapes, so that no row is spoilt by one of them. */
const NARROWEST = 0.5;
const WIDEST = 2.6;

/** Rows of pictures in the order of their rank, each row as wide as the space and about `target` high, without cutting.
 * @param {{width: number, height: number}[]} pictures @param {{width: number, target: number, gap: number}} space
 * @returns {{boxes: Box[], height: number}} */
export function justified(pictures, { width, target, gap }) {
  /** @type {Box[]} */
  const boxes = [];
  let [first, sum, y, row] = [0, 0, 0, 0];
  const put = (end, exact) => {
    const height = Math.round(exact);
    let right = 0;
    for (let at = first; at < end; at += 1) {
      // Edges are rounded, not widths: what is lost by rounding does not add up along the row.
      const x = Math.round(right);
      right += shape(pictures[at]) * exact;
      boxes.push({ x, y, width: Math.max(Math.round(right) - x, 1), height, row });
      right += gap;
    }
    [first, sum, y, row] = [end, 0, y + height + gap, row + 1];
  };
  pictures.forEach((picture, at) => {
    const before = heightOf(sum, at - first, width, gap);
    sum += shape(picture);
    const height = heightOf(sum, at - first + 1, width, gap);
    if (height > target) return;
    // Whichever of the two rows is nearer to the height that is wanted.
    if (at > first && before - target < target - height && before <= target * 1.6) {
      sum -= shape(picture);
      put(at, before);
      sum = shape(picture);
    } else put(at + 1, height);
  });
  if (first < pictures.length) put(pictures.length, Math.min(target, heightOf(sum, pictures.length - first, width, gap)));
  return { boxes, height: Math.max(0, y - gap) };
}

/** Height at which shapes that add up to `sum` fill the width. @param {number} sum @param {number} count @param {number} width @param {number} gap */
function heightOf(sum, count, width, gap) {
  return sum === 0 ? Infinity : (width - gap * (count - 1)) / sum;
}

/** Width by height, within bounds; square where it is not known. @param {{width: number, height: number}} picture */
export function shape({ width, height }) {
  return width > 0 && height > 0 ? Math.min(WIDEST, Math.max(NARROWEST, width / height)) : 1;
}

/** The boxes that lie between two heights, as a range [first, end). @param {Box[]} boxes @param {number} top @param {number} bottom */
export function between(boxes, top, bottom) {
  return [partition(boxes, (box) => box.y + box.height < top), partition(boxes, (box) => box.y <= bottom)];
}

/** How many at the beginning are `low`; all that are stand before all that are not.
 * @param {Box[]} boxes @param {(box: Box) => boolean} low */
function partition(boxes, low) {
  let [from, to] = [0, boxes.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (low(boxes[middle])) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The place above or below `at` (step -1 or 1): in the next row, the one that is nearest to its middle.
 * @param {Box[]} boxes @param {number} at @param {number} step */
export function beside(boxes, at, step) {
  const here = boxes[at];
  if (!here) return at;
  const middle = here.x + here.width / 2;
  const off = (index) => Math.abs(boxes[index].x + boxes[index].width / 2 - middle);
  let best = -1;
  for (let index = at + step; boxes[index] && Math.abs(boxes[index].row - here.row) <= 1; index += step) {
    if (boxes[index].row !== here.row && (best < 0 || off(index) < off(best))) best = index;
  }
  return best < 0 ? at : best;
}
