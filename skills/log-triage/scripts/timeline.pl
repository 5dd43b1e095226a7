#!/usr/bin/env perl
# Merges logs and notes into one timeline. Needs nothing but perl-base.
use strict;
use warnings;
use utf8;
use Cwd qw(abs_path);
use File::Basename qw(basename dirname);
use Getopt::Long qw(:config no_ignore_case);
use List::Util qw(max);

require(abs_path(dirname(__FILE__)) . '/loglib.pl');

my $USAGE = <<'END';
usage: timeline.pl [LABEL[@ZONE]=]FILE... [--since TIME] [--until TIME] [--around TIME --minutes N]
                   [--grep REGEX] [--gap MINUTES] [--limit N] [--zone +HH:MM] [--year YYYY]

Merges files with times into one timeline in UTC. - reads standard input; .gz files are read as they are.
LABEL names a file in the timeline, ZONE is the zone of its times, as in db@+02:00=postgres.log.
--around shows N minutes (default 5) before and after a time.
--gap marks silences of at least so many minutes (default 10; 0 marks none).
END

binmode STDOUT, ':utf8';
binmode STDERR, ':utf8';
my %option = (minutes => 5, gap => 10, limit => 300, zone => '+00:00', year => (gmtime)[5] + 1900);
{
    local $SIG{__WARN__} = sub { my $text = lcfirst shift; chomp $text; usage($text) };
    GetOptions(\%option, 'help', 'since=s', 'until=s', 'around=s', 'minutes=f', 'grep=s', 'gap=f', 'limit=i', 'zone=s', 'year=i');
}
if ($option{help}) { print $USAGE; exit 0 }
usage('give at least one file') if !@ARGV;
usage('give --around, or --since and --until') if defined $option{around} && (defined $option{since} || defined $option{until});
my ($since, $until) = map { option_time($_) } 'since', 'until';
if (defined(my $middle = option_time('around'))) {
    ($since, $until) = ($middle - 60 * $option{minutes}, $middle + 60 * $option{minutes});
}
my $grep = defined $option{grep} ? eval { qr/$option{grep}/i } // usage('--grep is no valid regular expression') : undef;

my (@events, %undated);
read_source($_) for @ARGV;
@events = sort { $a->{time} <=> $b->{time} || $a->{order} <=> $b->{order} } @events;
report();

sub read_source {
    my $source = shift;
    my ($label, $zone, $path) = ('', $option{zone}, $source);
    # A file whose name holds the sign is meant as it is.
    if (!-e $source && $source =~ /^([^=@\/]+)(?:\@([+-]\d\d:?\d\d))?=(.+)$/) {
        ($label, $zone, $path) = ($1, $2 // $zone, $3);
    }
    my $log = loglib::open_log($path) or fail("cannot read $path: $!");
    my $name = $path eq '-' ? 'stdin' : basename($path);
    $label = $name =~ s/\.(?:log|txt)?(?:\.gz)?$//r if $label eq '';
    my ($number, $seen) = (0, 0);
    while (defined(my $raw = readline $log)) {
        $number++;
        my $line = loglib::clean($raw);
        my ($time, $text) = loglib::find_time($line, $zone, $option{year});
        if (!defined $time) { $undated{$name}++ if !$seen && $line ne ''; next }
        $seen = 1;
        next if defined $since && $time < $since || defined $until && $time > $until || $grep && $line !~ $grep;
        $text =~ s/^[\s|,;:\]-]+//;
        push @events, { time => $time, label => $label, text => $text, place => "$name:$number", order => scalar @events };
    }
    fail("$path holds no line with a time; add times like 2026-11-20 10:41 to it") if !$seen;
    close $log or $path eq '-' or fail("$path cannot be read to its end; is it a valid .gz file?");
}

sub report {
    if (!@events) { print "no events in this range; widen --since and --until, or --grep\n"; return }
    my @shown = collapse();
    my $left = @shown > $option{limit} ? @shown - $option{limit} : 0;
    splice @shown, $option{limit} if $left;
    my $width = max(map { length $_->{label} } @shown);
    my $day = '';
    my $before;
    for my $event (@shown) {
        my $today = loglib::show_time($event->{time}, '%F');
        print "-- $today (UTC)\n" if $today ne $day;
        $day = $today;
        if ($option{gap} > 0 && defined $before && $event->{time} - $before >= 60 * $option{gap}) {
            print "   ... ", duration($event->{time} - $before), " without events\n";
        }
        my $clock = loglib::show_time($event->{time}, '%T');
        my $times = $event->{times} > 1 ? " (x$event->{times}, until " . loglib::show_time($event->{last}, '%T') . ')' : '';
        printf "%s  %-*s  %s%s  [%s]\n", $clock, $width, $event->{label}, cut($event->{text}, 240), $times, $event->{place};
        $before = $event->{last};
    }
    print "\n$left more lines; raise --limit or narrow the range\n" if $left;
    print "\n", scalar @events, ' events';
    print "; lines before the first time were left out: ", join(', ', map { "$_ ($undated{$_})" } sort keys %undated) if %undated;
    print "\n";
}

# Lines of one source that differ only in numbers and follow each other become one.
sub collapse {
    my @shown;
    for my $event (@events) {
        (my $form = "$event->{label} $event->{text}") =~ s/\d+/0/g;
        my $previous = $shown[-1];
        if ($previous && $previous->{form} eq $form) {
            $previous->{times}++;
            $previous->{last} = $event->{time};
            next;
        }
        push @shown, { %$event, form => $form, times => 1, last => $event->{time} };
    }
    return @shown;
}

sub option_time {
    my $name = shift;
    return undef if !defined $option{$name};
    return loglib::parse_option_time($option{$name}, $option{zone}, $option{year})
        // usage("--$name is a time like '2026-11-20 10:41', not '$option{$name}'");
}

sub duration {
    my $minutes = int(shift() / 60);
    return $minutes < 60 ? "$minutes min" : sprintf '%d h %02d min', $minutes / 60, $minutes % 60;
}

sub cut { my ($text, $length) = @_; return length $text > $length ? substr($text, 0, $length - 1) . "\x{2026}" : $text }

sub usage { print STDERR "timeline.pl: $_[0]; see timeline.pl --help\n"; exit 2 }

sub fail { print STDERR "timeline.pl: $_[0]\n"; exit 1 }
