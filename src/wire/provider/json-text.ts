/** Encodes an object of these members, and of lists whose items are encoded already. Empty lists are left out. */
export function jsonText(members: object, lists: Readonly<Record<string, readonly string[]>>): string {
  const plain = JSON.stringify(members).slice(1, -1)
  const encodedLists = Object.entries(lists).map(([name, texts]) => texts.length > 0 && `"${name}":[${texts.join()}]`)
  return `{${[plain, ...encodedLists].filter(Boolean).join()}}`
}

/** Encodes items as the inside of a JSON list, without its brackets; '' for no items. */
export function joinItems(items: readonly object[]): string {
  return JSON.stringify(items).slice(1, -1)
}
