// A map of bounded size that forgets the entries set longest ago.

export class RecentMap<Key, Value> extends Map<Key, Value> {
  private readonly maxSize: number;
  private readonly forget: (value: Value) => void;

  /** `forget` is called with each value that is removed to make room. */
  constructor(most: number, forget: (value: Value) => void = () => undefined) {
    super();
    this.maxSize = most;
    this.forget = forget;
  }

  /** A key that is set again counts as new. */
  override set(key: Key, value: Value): this {
    this.delete(key);
    super.set(key, value);
    for (const [oldest, forgotten] of this) {
      if (this.size <= this.maxSize) break;
      this.delete(oldest);
      this.forget(forgotten);
    }
    return this;
  }
}
