/// When a handler wants to be called if no request arrives.
package enum MoreWork {
    case none
    case now
    case later(Duration)
}
