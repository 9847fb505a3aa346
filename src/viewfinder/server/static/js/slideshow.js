// @ts-check
/** One picture after another, by itself, until somebody stops it or the results end. */

const KEPT = "viewfinder-seconds";

export class Slideshow {
  static SECONDS = [3, 5, 10, 30];

  /** @param {() => Promise<boolean>} step  shows the next one; whether there was one @param {() => void} changed  it began or ended */
  constructor(step, changed) {
    this.step = step;
    this.changed = changed;
    this.isOn = false;
    const kept = Number(localStorage.getItem(KEPT));
    this.seconds = Slideshow.SECONDS.includes(kept) ? kept : 5;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.next = undefined;
  }

  /** Begins or ends. */
  turn() {
    this.isOn = !this.isOn;
    this.wait();
    this.changed();
  }

  stop() {
    if (this.isOn) this.turn();
  }

  /** @param {number} seconds */
  setSeconds(seconds) {
    this.seconds = seconds;
    localStorage.setItem(KEPT, String(seconds));
    this.wait();
  }

  /** Somebody went to another picture: that one is seen for its whole time. */
  putOff() {
    this.wait();
  }

  wait() {
    clearTimeout(this.next);
    if (this.isOn) this.next = setTimeout(() => void this.go(), this.seconds * 1000);
  }

  async go() {
    // Nobody looks at a page that is hidden.
    const isMore = document.hidden || (await this.step());
    if (!this.isOn) return;
    if (isMore) this.wait();
    else this.stop();
  }
}
