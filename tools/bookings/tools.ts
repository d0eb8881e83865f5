import * as v from 'valibot'
import { defineTool, type RunContext, ToolError } from 'edgecall/tool'
import type { BookingsEnv } from './bookings.ts'
import { addDays, isDay, today } from './day.ts'
import { type Booking, ROOMS } from './store.ts'

const MOST_NIGHTS = 30
const DAYS_AHEAD = 365

const number = v.pipe(v.string(), v.maxLength(20), v.description('The booking number, such as "B-12345".'))
const room = v.picklist(['single', 'double', 'suite'])
const day = v.pipe(v.string(), v.description('YYYY-MM-DD'))

const output = v.object({
  number,
  state: v.picklist(['confirmed', 'cancelled']),
  guest: v.string(),
  room,
  checkIn: day,
  checkOut: day,
  price: v.pipe(v.number(), v.description('Of the whole stay, in euros.')),
})

/** Looks up a booking by its number. */
export const findBooking = defineTool({
  name: 'findBooking',
  title: 'Look up a booking',
  description:
    'Looks up one hotel booking by its number. Use it when someone asks about a booking, or before you change one. ' +
    'Answers its state (confirmed or cancelled), the guest, the kind of room, the days and the price in euros.',
  input: v.strictObject({ number }),
  output,
  annotations: { readOnly: true, idempotent: true, openWorld: false },
  run: async ({ number }, context: RunContext<BookingsEnv>) => {
    return resultOf((await hotelOf(context).find(parseNumber(number))) ?? unknown(number))
  },
})

/** Books a room. */
export const bookRoom = defineTool({
  name: 'bookRoom',
  title: 'Book a room',
  description:
    `Books a hotel room, from ${describeRooms()}. Use it when someone has decided to stay and has said who, from when ` +
    'and for how long; ask for what is missing. Answers the booking with its number, by which it can be looked up and ' +
    'cancelled, and its price in euros.',
  input: v.strictObject({
    guest: v.pipe(v.string(), v.regex(/\S/), v.maxLength(100), v.description('Full name of the guest.')),
    room: v.pipe(room, v.description('The kind of room.')),
    checkIn: v.pipe(v.string(), v.description('First night, as YYYY-MM-DD, at most a year ahead.')),
    nights: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MOST_NIGHTS)),
  }),
  output,
  annotations: { readOnly: false, idempotent: true, destructive: false, openWorld: false },
  run: async ({ guest, room, checkIn, nights }, context: RunContext<BookingsEnv>) => {
    checkDay(checkIn)
    const stay = { guest: guest.trim(), room, checkIn, checkOut: addDays(checkIn, nights) }
    const answer = await hotelOf(context).book(context.idempotencyKey, stay)
    if (answer !== 'full') return resultOf(answer)
    throw new ToolError(
      `No ${room} room is free on each night from ${checkIn} to ${stay.checkOut}. Offer other days, or another kind of room.`,
      { code: 'no_room' },
    )
  },
  // A refused call counts as `absent`: it had no effect, and repeating it gives the same refusal.
  status: async (context: RunContext<BookingsEnv>) => {
    const booking = await hotelOf(context).madeBy(context.idempotencyKey)
    return booking ? { status: 'done', result: resultOf(booking) } : 'absent'
  },
  undo: (_, { structured }, context: RunContext<BookingsEnv>) => {
    const booked = v.safeParse(Booked, structured)
    if (booked.success) return cancel(booked.output.number, context)
    throw new ToolError('The result of this call names no booking.', { code: 'unknown_booking' })
  },
})

const Booked = v.object({ number: v.string() })

/** Cancels a booking. */
export const cancelBooking = defineTool({
  name: 'cancelBooking',
  title: 'Cancel a booking',
  description:
    'Cancels one hotel booking by its number, for good. Use it only when someone asked to cancel that booking. ' +
    'Answers the booking once it is cancelled.',
  input: v.strictObject({ number }),
  output,
  annotations: { readOnly: false, idempotent: true, destructive: true, openWorld: false },
  approval: 'always',
  run: ({ number }, context: RunContext<BookingsEnv>) => cancel(number, context),
})

/** Cancels a booking; this is also the undo of `bookRoom`. Idempotent. */
async function cancel(number: string, context: RunContext<BookingsEnv>) {
  return resultOf((await hotelOf(context).cancel(parseNumber(number))) ?? unknown(number))
}

/** Returns the hotel of the tenant that the caller's key belongs to, whatever the tool context says. */
function hotelOf({ env, caller }: RunContext<BookingsEnv>) {
  return env.BOOKINGS.get(env.BOOKINGS.idFromName(caller.tenant))
}

function resultOf({ number, state, guest, room, checkIn, checkOut, price }: Booking) {
  return { number: `B-${number}`, state, guest, room, checkIn, checkOut, price }
}

function parseNumber(text: string): number {
  const [, digits] = /^B-([1-9]\d{0,8})$/i.exec(text.trim()) ?? []
  return digits === undefined ? unknown(text) : Number(digits)
}

function unknown(number: string): never {
  throw new ToolError(`There is no booking "${number}". A booking number looks like "B-12345".`, {
    code: 'unknown_booking',
  })
}

function checkDay(checkIn: string): void {
  const [first, last] = [today(), addDays(today(), DAYS_AHEAD)]
  if (isDay(checkIn) && checkIn >= first && checkIn <= last) return
  throw new ToolError(`"${checkIn}" cannot be booked. Send \`checkIn\` as YYYY-MM-DD, from ${first} to ${last}.`, {
    code: 'invalid_date',
  })
}

function describeRooms(): string {
  return Object.entries(ROOMS)
    .map(([kind, { price }]) => `${kind} (${price} euros a night)`)
    .join(', ')
}
