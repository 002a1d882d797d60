package store

// SegmentBytes is maxSegmentBytes, for tests of what earlier versions wrote.
var SegmentBytes = &maxSegmentBytes
