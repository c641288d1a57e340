"""The doctor: whether a link is fit for a disaster. Facts are gathered once; every check is a pure judgement."""
