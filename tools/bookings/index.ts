import { serveTools } from 'edgecall/tool'
import { bookRoom, cancelBooking, findBooking } from './tools.ts'

export { Bookings } from './bookings.ts'
export default serveTools(findBooking, bookRoom, cancelBooking)
