// What was found out about a part of a schema, kept as long as the schema: a hostile one leads to the same part by so many ways that walking
// each would never end, and an input asks once for each of its parts.

/** Asks `find` once for each schema, part and depth. Parts that are no objects are not kept. */
export function remembered<Found>(): (root: object, part: unknown, depth: number, find: () => Found) => Found {
  const known = new WeakMap<object, WeakMap<object, Map<number, Found>>>();
  return (root, part, depth, find) => {
    if (typeof part !== 'object' || part === null) return find();
    const ofRoot = known.get(root) ?? new WeakMap<object, Map<number, Found>>();
    known.set(root, ofRoot);
    const ofPart = ofRoot.get(part) ?? new Map<number, Found>();
    ofRoot.set(part, ofPart);
    if (!ofPart.has(depth)) ofPart.set(depth, find());
    return ofPart.get(depth) as Found;
  };
}
