// A map of bounded size: what was set longest ago is forgotten first.

export class RecentMap<Key, Value> extends Map<Key, Value> {
  private readonly most: number;
  private readonly forget: (value: Value) => void;

  /** `forget` is told of each value that goes to make room. */
  constructor(most: number, forget: (value: Value) => void = () => undefined) {
    super();
    this.most = most;
    this.forget = forget;
  }

  /** A key that is set again counts as new. */
  override set(key: Key, value: Value): this {
    this.delete(key);
    super.set(key, value);
    for (const [oldest, forgotten] of this) {
      if (this.size <= this.most) break;
      this.delete(oldest);
      this.forget(forgotten);
    }
    return this;
  }
}
