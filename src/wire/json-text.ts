/** The text of an object: of these members, and of lists whose items are encoded already. An empty list is left out. */
export function jsonText(members: object, lists: Readonly<Record<string, readonly string[]>>): string {
  const plain = JSON.stringify(members).slice(1, -1)
  const listed = Object.entries(lists).map(([name, texts]) => texts.length > 0 && `"${name}":[${texts.join()}]`)
  return `{${[plain, ...listed].filter(Boolean).join()}}`
}

/** The text of a list, as one item of an encoded one; '' for an empty list. */
export function listed(items: readonly object[]): string {
  return JSON.stringify(items).slice(1, -1)
}
