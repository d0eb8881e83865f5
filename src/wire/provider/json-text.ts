/**
 * Encodes an object of these members, and of lists whose items are encoded already, each by itself or joined by commas.
 * Empty lists are left out.
 */
export function jsonText(members: object, lists: Readonly<Record<string, string | readonly string[]>>): string {
  let text = JSON.stringify(members).slice(0, -1)
  // Texts are appended, not joined: joining copies each of them once more.
  for (const [name, items] of Object.entries(lists)) {
    if (items.length > 0)
      text += `${text === '{' ? '' : ','}"${name}":[${typeof items === 'string' ? items : items.join()}]`
  }
  return `${text}}`
}

/** Encodes items as the inside of a JSON list, without its brackets; '' for no items. */
export function joinItems(items: readonly object[]): string {
  return JSON.stringify(items).slice(1, -1)
}
