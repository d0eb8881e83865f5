import { z } from 'zod'

/** Returns the Zod schema that an author would have written for one of the bench's tools. */
export function zodOf({ properties, required }) {
  const members = Object.entries(properties).map(([name, { type, enum: values, description }]) => {
    let schema = values ? z.enum(values) : type === 'string' ? z.string() : z.number()
    if (type === 'integer') schema = schema.int()
    if (description) schema = schema.describe(description)
    return [name, required.includes(name) ? schema : schema.optional()]
  })
  return z.object(Object.fromEntries(members))
}
